"""The sections of the page that are words and tables."""

import re
from collections import Counter
from html import escape
from typing import Any

from keyhole.lab.report.html import paragraph, table
from keyhole.lab.results import Results, Summary
from keyhole.lab.words import count, percent, with_bar


def verdict(results: Results, lines: list[Summary]) -> str:
    """Who did best, in two sentences."""
    best = min(lines, key=lambda line: line.mse)
    null = with_bar(results.null_mse(), 0.0)
    error = with_bar(best.mse, 2 * best.sd).replace(" ", "\N{NO-BREAK SPACE}")
    return paragraph(
        f"{best.learner} ended with the lowest test error, {error}, after looking at "
        f"{count(best.values)} values, {percent(best.share_of_cells)} of those in its training examples.",
        f"Predicting the mean of the target, without a look, has {null}.",
        _rivals(best, lines),
        css="lead",
    )


def _rivals(best: Summary, lines: list[Summary]) -> str:
    """Who may be as good: those whose bars overlap with the best one's."""
    top = best.mse + 2 * best.sd
    rivals = [line.learner for line in lines if line is not best and line.mse - 2 * line.sd <= top]
    return f"Its bar overlaps with that of {' and '.join(rivals)}." if rivals and best.n > 1 else ""


def protocol(results: Results) -> str:
    """What was done, so that it can be judged and repeated."""
    e = results.experiment
    data = e["data"]
    treated = [
        "The mean of the training targets was taken from all targets beforehand, for everybody: targets are free to "
        "read, and not every learner has an intercept."
        if data.get("centre")
        else "",
        "Missing values were filled with the median of their attribute in the training part of each repeat; these "
        "medians were taken from complete columns and are on nobody's bill."
        if data.get("fill")
        else "",
    ]
    return paragraph(
        f"Data: {data['name']}, {count(data['examples'])} examples of {count(data['attributes'])} attributes.",
        f"Of every example {e['n_observed']} attributes may be looked at, while learning and while predicting; "
        f"a predictor may have {e['n_nonzero_coefs']}.",
        f"In total a run may look at {e['n_observed']} values for every training example, also where a learner "
        "looks at complete examples.",
        *treated,
    ) + paragraph(
        f"Everything was repeated {e['repeats']} times, each time with {percent(e['test_share'])} of the examples "
        "set apart at random for the test, the same for all learners.",
        f"Every learner tried {e['n_trials']} settings in every repeat, or as many as it has: first its default, "
        f"then others at random from its own grid, judged on {percent(e['validation_share'])} of the training "
        "examples; the best was trained on all of them. Test examples were never used to choose.",
        "Bars, and numbers after ±, are two standard deviations over the repeats.",
    )


def summary(lines: list[Summary]) -> str:
    """One line per learner."""
    best = min(range(len(lines)), key=lambda i: lines[i].mse)
    headings = ("learner", ">test MSE", ">values", ">of the cells", ">to 10 %", ">trials", ">stability", ">repeats")
    rows = [
        (
            escape(line.learner),
            with_bar(line.mse, 2 * line.sd),
            count(line.values),
            percent(line.share_of_cells),
            count(line.examples_to_nearly_best),
            str(line.trials),
            "-" if line.stability is None else f"{line.stability:.2f}",
            str(line.n),
        )
        for line in lines
    ]
    return table(headings, rows, best=best) + paragraph(
        "To 10 %: after how many examples the mean error stays within 10 % of the best final error of all; a dash "
        "where it does not get there. Stability: how alike the supports of two repeats are (Jaccard: what they "
        "share, over what they have together; 1 is always the same).",
        css="quiet",
    )


def bill(lines: list[Summary]) -> str:
    """What a run cost, and what its tuning cost before."""
    headings = ("learner", ">examples", ">values", ">values while tuning", ">attributes in the model", ">seconds")
    rows = [
        (
            escape(line.learner),
            count(line.examples),
            count(line.values),
            count(line.tuning_values),
            f"{line.n_nonzero:.3g}",
            f"{line.seconds:.2g}",
        )
        for line in lines
    ]
    return table(headings, rows) + paragraph("Means over the repeats; seconds are those of one training.", css="quiet")


def tuning(results: Results) -> str:
    """Of every tuned parameter, what was chosen, and what tuning gained."""
    headings = ("learner", "parameter", "chosen (in how many repeats)", ">default's error", ">chosen's error")
    rows: list[tuple[str, ...]] = []
    for learner in results.learners:
        default, chosen = _validation_errors(results, learner)
        parameters = results.chosen(learner)
        for place, (name, values) in enumerate(parameters.items()):
            first = place == 0
            rows.append(
                (
                    escape(learner) if first else "",
                    f"<code>{escape(name)}</code>",
                    escape(_spread(values)),
                    default if first else "",
                    chosen if first else "",
                )
            )
        if not parameters:
            rows.append((escape(learner), "", "nothing to tune", default, chosen))
    return (
        table(headings, rows)
        + paragraph("Errors are those on the validation part, means over the repeats.", css="quiet")
        + _failed_trials(results)
    )


def making(results: Results) -> str:
    """Versions, command, when."""
    about = results.about
    made = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    command = " ".join(map(str, about["command"]))
    started, seed = escape(about["started"]), about["experiment"]["seed"]
    return f'<p class="quiet">{escape(made)}. Seed {seed}. Started {started} by <code>{escape(command)}</code>.</p>'


def failures(results: Results) -> str:
    """Cells that could not be completed, where there are any."""
    said = "".join(f"<p>{escape(str(failure))}</p>" for failure in results.failures)
    return f'<div class="failed">{said}</div>' if said else ""


def _validation_errors(results: Results, learner: str) -> tuple[str, str]:
    repeats = [results.trials_of(learner, cell["repeat"]) for cell in results.cells_of(learner)]
    default = sum(trials[0]["mse"] for trials in repeats) / len(repeats)
    chosen = sum(min(trial["mse"] for trial in trials) for trials in repeats) / len(repeats)
    return with_bar(default, 0.0), with_bar(chosen, 0.0)


def _spread(values: list[Any]) -> str:
    """The values chosen, the most frequent first; numbers to four digits, also those within a schedule."""
    written = Counter(re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", str(value)) for value in values)
    return ", ".join(f"{value} ({times})" for value, times in written.most_common())


def _failed_trials(results: Results) -> str:
    counted = Counter((trial["learner"], trial["failed"]) for trial in results.trials if trial["failed"])
    return "".join(
        paragraph(f"{learner} could not work with {times} of its settings: {sentence}", css="quiet")
        for (learner, sentence), times in counted.most_common(5)
    )
