"""Where to look when little is left to find: rules beside each other in a game that is the search alone.

    python benchmarks/end_game.py [--draws 3000] [--save benchmarks/results/end_game.json]

It begins where Pursuit is after 1,500 examples of "coefficients 0.1 to 1" (`sample_efficiency.py`): coefficients above
0.5 are known well, and every other attribute has been looked at as if in 33 examples with unit noise. From there on,
all is known that can be: attributes are independent, a look adds as much information as the noise and what is not
explained yet allow, and nothing is lost. 50 attributes are seen per example; who has a score of 2.4 standard errors
takes a seat and is looked at always, until it has less than 1.8; with 3 it joins the model, with less than 2 it leaves.
The looks that are left go to the attributes of the highest rank. Published are the best 25, those with less than 4
standard errors by half. Medians, means and standard errors of the examples until the risk is within 2 % of the noise
floor, and the share of the draws that are above 4 % again later. A run ends after 9,000 examples, and counts as
9,900 if it has not come that close.

What rules cannot change here is what the search itself takes: no correlation, no variance and no mean is to be found
out, and there is no contest before publication.
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

D, S, LOOKS, START, END, NEVER = 500, 25, 50, 1_500, 9_000, 9_900
KNOWN, KNOWN_BY, SCOUTED = 0.5, 600.0, 33.0


@dataclass(frozen=True)
class State:
    """Of each draw (row) and attribute: the score in standard errors, the information behind it, the model."""

    z: np.ndarray
    information: np.ndarray
    core: np.ndarray

    @property
    def effect(self) -> np.ndarray:
        """What a member of the model explains on average."""
        theta2 = self.z**2 / self.information
        return np.sum(theta2, axis=1, where=self.core, keepdims=True) / np.maximum(self.core.sum(1, keepdims=True), 1)

    def posterior(self, effect: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        """The probability to matter, and the factor that a normal prior leaves of an estimate."""
        r2 = 1.0 / (self.information * effect)
        slab = 1.0 / (1.0 + r2)
        odds = share / (1.0 - share) * np.sqrt(r2 * slab) * np.exp(np.minimum(0.5 * self.z**2 * slab, 300.0))
        return odds / (1.0 + odds), slab


Rank = Callable[[State], np.ndarray]


def doubt(now: State, effects: float = 1.0) -> np.ndarray:
    """Pursuit's rule: the posterior variance; effects are thought to be so many times those of the model."""
    effect = effects * now.effect
    p, slab = now.posterior(effect, S / D)
    variance, mean2 = slab / now.information, now.z**2 * slab**2 / now.information
    return p * (variance + (1.0 - p) * mean2)


def probability(now: State) -> np.ndarray:
    return now.posterior(now.effect, S / D)[0]


def probability_per_look(now: State) -> np.ndarray:
    return now.posterior(now.effect, S / D)[0] / np.sqrt(now.information)


def reach(now: State, optimism: float) -> np.ndarray:
    """An upper bound of the effect."""
    return (now.z + optimism) / np.sqrt(now.information)


@dataclass(frozen=True)
class Rules:
    """Pursuit's, but for what a row of the table changes."""

    rank: Rank = doubt
    decide_after: int = 75
    soonest: float = 0.02
    small_block: int = 15
    block_share: float = 0.005
    z_seat: float = 2.4
    z_leave: float = 1.8
    posterior_means: bool = False


AFTER_EVERY_BLOCK: dict[str, Any] = {"decide_after": 1, "soonest": 0.0}
SMALL: dict[str, Any] = {"small_block": 10, "block_share": 0.002}
NO_SEATS: dict[str, Any] = {"z_seat": 3.0, "z_leave": 2.0}
ROWS = {
    "Pursuit's rules": Rules(),
    "effects of 0.3 of the model's": Rules(partial(doubt, effects=0.3)),
    "effects of 0.1 of the model's": Rules(partial(doubt, effects=0.1)),
    "probability": Rules(probability),
    "probability over the root of the looks": Rules(probability_per_look),
    "upper bound, 0.7 standard errors": Rules(partial(reach, optimism=0.7)),
    "upper bound, 1.5 standard errors": Rules(partial(reach, optimism=1.5)),
    "no seats but for members": Rules(**NO_SEATS),
    "posterior means are published": Rules(posterior_means=True),
    "blocks of 10": Rules(**SMALL),
    "a decision after every block": Rules(**AFTER_EVERY_BLOCK),
    "the last four together": Rules(**NO_SEATS, **SMALL, **AFTER_EVERY_BLOCK, posterior_means=True),
}


def published(now: State, theta: np.ndarray, seated: np.ndarray, rules: Rules) -> np.ndarray:
    """The coefficients of the best 25."""
    if rules.posterior_means:
        p, slab = now.posterior(now.effect, 0.03)
        worth = coef = p * slab * theta
    else:
        worth = np.where(seated & (now.z > 2.0), now.z, 0.0) + 100.0 * now.core
        coef = theta * np.where(now.core & (now.z > 4.0), 1.0, 0.5)
    worst = -np.partition(-np.abs(worth), S - 1, axis=1)[:, S - 1 : S]
    return np.where((np.abs(worth) >= worst) & (worth != 0.0), coef, 0.0)


def looked_at(rank: np.ndarray, seated: np.ndarray) -> np.ndarray:
    """The seats and, with the looks that are left, the attributes of the highest rank."""
    order = np.argsort(-np.where(seated, np.inf, rank), axis=1, kind="stable")[:, :LOOKS]
    look = np.zeros_like(seated)
    np.put_along_axis(look, order, values=True, axis=1)
    return look


def play(rules: Rules, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each draw: examples until within 2 %, and whether it was above 4 % later."""
    rng = np.random.default_rng(seed)
    beta = np.zeros((draws, D))
    beta[:, :S] = rng.uniform(0.1, 1.0, (draws, S))
    information = np.where(beta > KNOWN, KNOWN_BY, SCOUTED)
    score = beta * information + np.sqrt(information) * rng.standard_normal(beta.shape)
    core, seated = np.zeros_like(beta, dtype=bool), np.zeros_like(beta, dtype=bool)
    within, leaves = np.full(draws, float(NEVER)), np.zeros(draws, dtype=bool)
    n, decide_at = START, 0.0
    while n < END:
        now = State(np.abs(score) / np.sqrt(information), information, core)
        if n >= decide_at:
            core = np.where(core, now.z > 2.0, now.z > 3.0)
            seated = np.where(seated, now.z > rules.z_leave, now.z > rules.z_seat) | core
            now = replace(now, core=core)
            excess = np.sum((beta - published(now, score / information, seated, rules)) ** 2, axis=1)
            leaves |= (within < NEVER) & (excess > 0.04)
            within = np.where((excess <= 0.02) & (within == NEVER), n, within)
            decide_at = n + max(rules.soonest * n, rules.decide_after)
        length = max(rules.small_block, int(rules.block_share * n))
        look = looked_at(rules.rank(now), seated)
        unexplained = np.sum(beta**2, axis=1, where=~seated) + np.sum(1.0 / information, axis=1, where=core)
        gained = np.broadcast_to((length / (1.0 + unexplained))[:, None], look.shape)[look]
        score[look] += beta[look] * gained + np.sqrt(gained) * rng.standard_normal(gained.size)
        information[look] += gained
        n += length
    return within, leaves


def measure(label: str, draws: int) -> dict[str, Any]:
    lots = [play(ROWS[label], min(500, draws - start), seed) for seed, start in enumerate(range(0, draws, 500))]
    within, leaves = (np.concatenate(part) for part in zip(*lots, strict=True))
    return {
        "rules": label,
        "median": int(np.median(within)),
        "mean": int(within.mean()),
        "standard error": int(np.ceil(within.std() / np.sqrt(draws))),
        "leaves 4 %": f"{leaves.mean():.1%}",
        "draws": draws,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3_000)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "end_game.json")
    settings = parser.parse_args()
    rows = []
    with ProcessPoolExecutor() as pool:
        for row in pool.map(partial(measure, draws=settings.draws), ROWS):
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    settings.save.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
