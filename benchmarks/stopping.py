"""Whether `Pursuit(stop="converged")` keeps its word, and when it stops.

    python benchmarks/stopping.py [--seeds 100] [--tolerance 0.01] [--save benchmarks/results/stopping.json]

500 attributes, 25 non-zero coefficients at random places, unit noise, 50 attributes seen per example. For every seed
it is noted when a run would end by itself; it goes on for another thousand examples, and the exact risk is compared.
"ended" is the share of the seeds that end within 100,000 examples; of these, "kept" is the share in which the thousand
examples took away no more than the tolerance, as was said.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import keyhole as kh
from keyhole.learners.pursuit.budget import Budget
from keyhole.learners.pursuit.hunt import Hunt
from keyhole.learners.pursuit.seen import Seen

DESIGNS: dict[str, dict[str, float]] = {
    "independent": {},
    "AR(1) 0.5": {"correlation": 0.5},
    "AR(1) 0.8": {"correlation": 0.8},
    "coefficients 0.1 to 1": {"weakest": 0.1},
}
SIZES = {"given": 25, "chosen": None}
CASES = [*((design, "given") for design in DESIGNS), ("independent", "chosen")]


def one_seed(seed: int, design: str, size: str, tolerance: float) -> tuple[int, float, float]:
    """After how many examples it stops (or 0), the risk then, and the share of it that a thousand more take away."""
    source = kh.SyntheticSource.sparse(seed=seed, **DESIGNS[design])
    budget, rng = Budget.of_looks(50, 500, SIZES[size]), np.random.default_rng(seed)
    hunt = Hunt(500, SIZES[size], budget, rng, tolerance=tolerance)
    stopped, risk = 0, np.inf
    while hunt.n < 100_000 and not (stopped and hunt.n >= stopped + 1_000):
        blocks, n = hunt.choose()
        questions = zip(blocks, hunt.questions(blocks), strict=True)
        hunt.absorb([Seen(a, source.answer(kh.Query(a, n, question)).value) for a, question in questions])
        if not stopped and hunt.converged(tolerance):
            stopped, risk = hunt.n, source.risk(hunt.published) / source.noise_floor
    later = source.risk(hunt.published) / source.noise_floor
    return stopped, risk, (risk - later) / risk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--tolerance", type=float, default=0.01)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "stopping.json")
    settings = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(settings.workers) as pool:
        for design, size in CASES:
            ask = partial(one_seed, design=design, size=size, tolerance=settings.tolerance)
            runs = [run for run in pool.map(ask, range(settings.seeds)) if run[0]]
            examples, risks, gains = map(np.array, zip(*runs, strict=True))
            row = {"design": design, "size": size, "ended": len(runs) / settings.seeds}
            row["kept"] = float(np.mean(gains <= settings.tolerance))
            row |= {"largest gain": round(float(gains.max()), 5), "median examples": int(np.median(examples))}
            row |= {"most examples": int(examples.max()), "median risk": round(float(np.median(risks)), 4)}
            row["largest risk"] = round(float(risks.max()), 4)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            rows.append(row)
    about = {"version": kh.__version__, "seeds": settings.seeds, "tolerance": settings.tolerance}
    settings.save.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
