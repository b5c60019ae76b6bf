"""The tables in README and docs, as markdown, from the committed results.

    python benchmarks/tables.py

Prints them all; nothing is measured here.
"""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def load(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def table(*rows: list[str]) -> None:
    head, *body = rows
    for line in (head, ["---"] * len(head), *body):
        print("| " + " | ".join(line) + " |")
    print()


def count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def sample_efficiency() -> None:
    rows = load("sample_efficiency")["rows"]
    designs = list(dict.fromkeys(row["design"] for row in rows))
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    found = {(row["learner"], row["design"]): row for row in rows}
    print("Examples until within 10 % / 2 % of the noise floor, medians:\n")
    body = []
    for learner in learners:
        cells = [found[learner, design] for design in designs]
        body.append([learner, *(f"{count(c['median 10%'])} / {count(c['median 2%'])}" for c in cells)])
    table(["", *designs], *body)


def real_data() -> None:
    rows = load("defaults")["real"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    found = {(row["learner"], row["data"]): row for row in rows}
    print("Mean test error:\n")
    table(["", *names], *([learner, *(number(found[learner, name]["mean"]) for name in names)] for learner in learners))


def rivals() -> None:
    results = load("rivals")
    marks = [count(mark) for mark in results["marks"]]
    print(f"Risk after {', '.join(marks)} examples (1 is the noise floor), and time per example beside Hybrid's:\n")
    body = []
    for row in results["rows"]:
        designs = (" / ".join(f"{risk:.2f}" for risk in row[design]) for design in ("independent", "AR(1) 0.5"))
        body.append([f"`{row['learner']}`", *designs, f"{row['time']:g}"])
    table(["learner", "independent", "AR(1) 0.5", "time"], *body)


def published() -> None:
    results = load("published")
    body = []
    for curve, values in results["published"].items():
        body.append([f"**{curve}**, published", *("" if value is None else f"{value:g}" for value in values)])
        ours = (row for row in results["ours"] if row["curve"] == curve)
        body += ([f"`{row['learner']}`", *(f"{risk:.2f}" for risk in row["risk"])] for row in ours)
    table(["mean squared error after", *(count(mark) for mark in results["examples"])], *body)


def stopping() -> None:
    results = load("stopping")
    print(f"{results['seeds']} seeds, tolerance {results['tolerance']:.0%}:\n")
    body = []
    for row in results["rows"]:
        examples = f"{row['median examples']:,} ({row['most examples']:,})"
        risk = f"{row['median risk']:.3f} ({row['largest risk']:.3f})"
        kept, gain = f"{row['kept']:.0%}", f"{row['largest gain']:.2%}"
        body.append([row["design"], row["size"], examples, risk, kept, gain])
    head = ["design", "size", "stopped after (at most)", "risk (at most)", "word kept", "largest gain after it"]
    table(head, *body)


def missing() -> None:
    results = load("missing")
    rows = results["rows"]
    shares = sorted({row["missing"] for row in rows})
    found = {(row["design"], row["missing"]): row for row in rows}
    print("Examples until within 10 % / 2 % of the noise floor, medians, by the share of missing values:\n")
    body = []
    for design in dict.fromkeys(row["design"] for row in rows):
        there = (found.get((design, share)) for share in shares)
        reached = (f"{count(row['median 10%'])} / {count(row['median 2%'])}" if row else "" for row in there)
        body.append([design, *reached])
    table(["", *(f"{share:.0%}" for share in shares)], *body)


def money() -> None:
    print("Money until the test error is within a share of least squares on all columns:\n")
    body = []
    for row in load("money")["rows"]:
        spent = (count_or_never(row[f"money {kind}"]) for kind in ("with prices", "without"))
        then = (count_or_never(row[f"to predict {kind}"]) for kind in ("with prices", "without"))
        ratio = "" if row["ratio"] is None else f"{row['ratio']:g}"
        body.append([row["data"], row["when"], row["within"], *spent, ratio, *then])
    table(["data", "when", "within", "with prices", "without", "ratio", "to predict, with", "without"], *body)


def count_or_never(value: Any) -> str:
    return value if isinstance(value, str) else number(value)


if __name__ == "__main__":
    for part in (sample_efficiency, real_data, rivals, published, stopping, missing, money):
        if (RESULTS / f"{'defaults' if part is real_data else part.__name__}.json").exists():
            part()
