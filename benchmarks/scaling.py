"""Time per example as the number of attributes grows and as the number of looks grows, as ratios to the first row.

    python benchmarks/scaling.py [--save benchmarks/results/scaling.json]

The source makes up a block of values at no cost that depends on d, so that what is timed is the learner, the driver
and the meter. Every setting is timed several times, in turn, and the median counts.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import keyhole as kh
from keyhole.query import Block
from keyhole.sources import Answer


class Noise:
    """Examples without meaning, made before the clock starts."""

    names = None

    def __init__(self, n_attributes: int) -> None:
        self.n_attributes = n_attributes
        self._values = np.random.default_rng(0).normal(size=(5_000, 400))
        self._targets = self._values[:, 0].copy()

    def remaining(self) -> None:
        return

    def answer(self, query: kh.Query) -> Answer:
        values = self._values[: query.n_examples, : query.attributes.size]
        return Answer(
            query.statistic(Block(query.attributes, values, self._targets[: query.n_examples])), query.n_examples
        )


def microseconds_per_example(d: int, n_observed: int, **settings: object) -> float:
    learner = kh.Hybrid(
        n_observed, n_observed // 2, exploration_batch_size=100, exploitation_batch_size=100, **settings
    )
    start = time.perf_counter()
    result = kh.learn(learner, Noise(d), max_examples=max(40_000, 12 * 100 * d // n_observed), progress=False)
    return 1e6 * (time.perf_counter() - start) / result.bill.examples


def measure(repeats: int) -> list[dict[str, float]]:
    settings = [(d, 50) for d in (500, 5_000, 50_000)] + [(5_000, s) for s in (10, 50, 200)]
    kinds = {"raw, given step": {"step_size": 0.01}, "seen, automatic": {"scale": "seen", "fit_intercept": True}}
    rows = []
    for kind, given in kinds.items():
        times = np.array([[microseconds_per_example(d, s, **given) for d, s in settings] for _ in range(repeats)])
        for (d, s), ratios in zip(settings, (times / times[:, :1]).T, strict=True):
            row = {"kind": kind, "d": d, "n_observed": s, "time ratio": round(float(np.median(ratios)), 2)}
            rows.append({**row, "lowest": round(float(ratios.min()), 2), "highest": round(float(ratios.max()), 2)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "scaling.json")
    settings = parser.parse_args()
    rows = measure(settings.repeats)
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    settings.save.write_text(json.dumps({"version": kh.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
