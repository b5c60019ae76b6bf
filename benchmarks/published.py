"""The paper's Figure 1: its published curves, read off the figure, beside ours.

    python benchmarks/published.py [--seeds 3] [--save benchmarks/results/published.json]

The paper's synthetic design (500 attributes, the first 25 matter), 50 attributes seen per example, exact risk, mean
over the seeds. Every learner runs with the best setting found for it (docs/learners.md says what was searched). The
published numbers are correct to about 0.1.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import keyhole as kh

MARKS = (8_200, 16_400, 32_800, 65_540, 89_000)
PUBLISHED = {
    "RDA": (9.0, 5.6, 3.8, 2.85, 2.7),
    "Dantzig": (23.6, 19.25, 12.25, 4.9, None),
    "Exploration": (18.9, 11.2, 3.45, 1.3, 1.15),
    "Hybrid": (14.0, 8.9, 1.15, 1.15, 1.1),
}
OURS: dict[str, list[Any]] = {
    "RDA": [
        kh.DualAveraging(50, 25, n_top=5, damping=250, damping_delay=60_000, norm_bound=1.08),
        kh.DualAveraging(50, 25, n_top=2, damping=200, damping_delay=60_000, norm_bound=0.88),
        kh.TruncatedDualAveraging(50, 25, draw_everywhere=True, damping=250),
    ],
    "Dantzig": [kh.Dantzig(50, 25, C=0.08)],
    "Exploration": [
        kh.Exploration(50, 40, step_size=0.08, batch_size=83),  # what the published curve betrays
        kh.Exploration(50, 25, step_size=0.12, batch_size=80),
    ],
    "Hybrid": [kh.Hybrid(50, 25, step_size=0.1, exploration_batch_size=120, exploitation_batch_size=100)],
}


def risks(learner: Any, seed: int) -> list[float]:
    source = kh.SyntheticSource.paper(seed=seed)
    result = kh.learn(learner, source, max_examples=MARKS[-1] + 1_000, progress=False)
    return [source.risk([r for r in result.trace if r.examples <= mark][-1].predictor) for mark in MARKS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "published.json")
    settings = parser.parse_args()
    rows = []
    print("examples", *MARKS)
    for curve, learners in OURS.items():
        print(curve, "published", *PUBLISHED[curve])
        for learner in learners:
            found = np.mean([risks(learner, seed) for seed in range(settings.seeds)], axis=0)
            rows.append({"curve": curve, "learner": repr(learner), "risk": [round(float(risk), 3) for risk in found]})
            print(curve, *rows[-1]["risk"], rows[-1]["learner"], flush=True)
    about = {"version": kh.__version__, "seeds": settings.seeds, "examples": MARKS, "published": PUBLISHED}
    settings.save.write_text(json.dumps({**about, "ours": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
