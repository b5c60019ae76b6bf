"""Every learner with its defaults, on independent and on correlated attributes, at the same numbers of examples.

    python benchmarks/rivals.py [--seeds 3] [--save benchmarks/results/rivals.json]

The attributes that matter stand at random places: on the paper's own design they are the first 25, which flatters any
learner that breaks ties by index. Risks are exact and relative to the noise floor (1 is perfect, 26 and more is
predicting nothing); medians over the seeds. Learners that see complete rows (n_observed = d) get as many *values*,
which is a tenth of the examples. "time" is processor time per example, that of making the examples included,
relative to Hybrid in the same run.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import keyhole as kh

CAPPED = [
    kh.Hybrid,
    kh.Pursuit,
    kh.Exploration,
    kh.Screening,
    kh.OnlineOMP,
    kh.TruncatedDualAveraging,
    kh.CompatibleDualAveraging,
    kh.ScheduledDualAveraging,
    kh.DualAveraging,
    kh.AdaptiveDantzig,
    kh.Dantzig,
    kh.OnlineGreedy,
    kh.AELR,
    kh.DDAELR,
    kh.AERR,
    kh.DDAERR,
    kh.AER,
    kh.DirectEstimation,
]
COMPLETE = [kh.RowsThenColumns, kh.StoGradMP, kh.StoIHT, kh.IHT]
DESIGNS = {"independent": 0.0, "AR(1) 0.5": 0.5}
MARKS = (5_000, 10_000, 20_000, 40_000)
D, N_OBSERVED, N_NONZERO = 500, 50, 25


def one_run(kind: type, correlation: float, seed: int) -> tuple[list[float], float]:
    """The risk when so many values as the marks stand for were spent, and seconds per example."""
    source = kh.SyntheticSource.sparse(D, N_NONZERO, seed=seed, correlation=correlation)
    n_observed = D if kind in COMPLETE else N_OBSERVED
    budget = MARKS[-1] * N_OBSERVED
    start = time.process_time()
    result = kh.learn(
        kind(n_observed=n_observed, n_nonzero_coefs=N_NONZERO), source, max_values=budget, max_examples=MARKS[-1]
    )
    seconds = (time.process_time() - start) / result.bill.examples
    capped = kind not in COMPLETE
    risks = []
    for mark in MARKS:
        spent = [r for r in result.trace if (r.examples <= mark if capped else r.values <= mark * N_OBSERVED)]
        last = spent[-1].predictor if spent else kh.Predictor([], [], n_attributes=D)
        risks.append(source.risk(last) / source.noise_floor)
    return risks, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "rivals.json")
    settings = parser.parse_args()
    rows, pace = [], None
    for kind in [*CAPPED, *COMPLETE]:
        row: dict[str, object] = {"learner": kind.__name__, "complete rows": kind in COMPLETE}
        seconds = []
        for design, correlation in DESIGNS.items():
            runs = [one_run(kind, correlation, seed) for seed in range(settings.seeds)]
            row[design] = [round(float(risk), 3) for risk in np.median([risks for risks, _ in runs], axis=0)]
            seconds += [each for _, each in runs]
        pace = pace or float(np.median(seconds))
        row["time"] = round(float(np.median(seconds)) / pace, 1)
        rows.append(row)
        print(row, flush=True)
    settings.save.write_text(json.dumps({"version": kh.__version__, "marks": MARKS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
