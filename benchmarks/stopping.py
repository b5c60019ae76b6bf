"""Whether `Pursuit(stop="converged")` keeps its word, and when it stops.

    python benchmarks/stopping.py [--seeds 100] [--tolerance 0.01] [--save benchmarks/results/stopping.json]

500 attributes, 25 non-zero coefficients at random places, unit noise, 50 attributes seen per example. For every seed
it is noted when a run would end by itself; it goes on for another thousand examples, and the exact risk is compared.
"ended" is the share of the seeds that end within 100,000 examples; of these, "kept" is the share in which the thousand
examples took away no more than the tolerance, as was said. Where values are "missing", that share of all looks is in
vain, completely at random, and means stand in for values that are missing when it predicts, too. The word is about
examples as they come; "gain, complete" and the risk are about complete ones.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import keyhole as kh
from keyhole.learners.pursuit.budget import Budget
from keyhole.learners.pursuit.hunt import Hunt
from keyhole.learners.pursuit.seen import Seen
from keyhole.query import Block

DESIGNS: dict[str, dict[str, float]] = {
    "independent": {},
    "AR(1) 0.5": {"correlation": 0.5},
    "AR(1) 0.8": {"correlation": 0.8},
    "coefficients 0.1 to 1": {"weakest": 0.1},
}
SIZES = {"given": 25, "chosen": None}
#: Design, size, and the share of missing values.
CASES = [
    *((design, "given", 0.0) for design in DESIGNS),
    ("independent", "chosen", 0.0),
    *((design, "given", 0.05) for design in DESIGNS),
    ("independent", "given", 0.2),
    ("AR(1) 0.5", "given", 0.2),
    ("independent", "chosen", 0.05),
]


@dataclass
class Holed:
    """A question that some of the values are kept from."""

    question: Any
    missing: float
    rng: np.random.Generator

    allows_missing: ClassVar[bool] = True

    def __call__(self, block: Block) -> Any:
        holes = self.rng.random(block.values.shape) < self.missing
        return self.question(block._replace(values=np.where(holes, np.nan, block.values)))


def one_seed(seed: int, design: str, size: str, missing: float, tolerance: float) -> tuple[int, float, float, float]:
    """After how many examples it stops (or 0), the risk then, and what a thousand more take away, as shares.

    The last but one is a share of the risk on examples as they come, the last of that on complete ones.
    """
    source = kh.SyntheticSource.sparse(seed=seed, **DESIGNS[design])
    budget, holes = Budget.of_looks(50, 500, SIZES[size]), np.random.default_rng([seed, 1])
    hunt = Hunt(500, SIZES[size], budget, np.random.default_rng(seed), tolerance=tolerance)
    stopped, then = 0, kh.Predictor([], [], n_attributes=500)
    while hunt.n < 100_000 and not (stopped and hunt.n >= stopped + 1_000):
        blocks, n = hunt.choose()
        questions = [Holed(question, missing, holes) for question in hunt.questions(blocks)]
        asked = zip(blocks, questions, strict=True)
        hunt.absorb([Seen(a, source.answer(kh.Query(a, n, question)).value) for a, question in asked])
        if not stopped and hunt.converged(tolerance):
            stopped, then = hunt.n, hunt.published
    risks = np.array(
        [[risk(source, predictor, share) for share in (missing, 0.0)] for predictor in (then, hunt.published)]
    )
    as_they_come, complete = (risks[0] - risks[1]) / risks[0]
    return stopped, risks[0, 1] / source.noise_floor, as_they_come, complete


def risk(source: kh.SyntheticSource, predictor: kh.Predictor, missing: float) -> float:
    """The exact expected squared error where so many values are missing and means, which are 0, stand in for them."""
    coef = predictor.to_dense()
    # What is left of an attribute is its coefficient, less the predictor's where it can be had: so much on average, ...
    known = kh.Predictor(predictor.attributes, (1.0 - missing) * predictor.coef, predictor.intercept, coef.size)
    # ... and by so much it varies from example to example.
    return source.risk(known) + missing * (1.0 - missing) * float(coef @ coef)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--tolerance", type=float, default=0.01)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "stopping.json")
    settings = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(settings.workers) as pool:
        for design, size, missing in CASES:
            ask = partial(one_seed, design=design, size=size, missing=missing, tolerance=settings.tolerance)
            runs = [run for run in pool.map(ask, range(settings.seeds)) if run[0]]
            examples, risks, gains, complete = map(np.array, zip(*runs, strict=True))
            row = {"design": design, "size": size, "missing": missing, "ended": len(runs) / settings.seeds}
            row["kept"] = float(np.mean(gains <= settings.tolerance))
            row |= {"largest gain": round(float(gains.max()), 5)}
            row |= {"largest gain, complete": round(float(complete.max()), 5)}
            row |= {"median examples": int(np.median(examples))}
            row |= {"most examples": int(examples.max()), "median risk": round(float(np.median(risks)), 4)}
            row["largest risk"] = round(float(risks.max()), 4)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            rows.append(row)
    about = {"version": kh.__version__, "seeds": settings.seeds, "tolerance": settings.tolerance}
    settings.save.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
