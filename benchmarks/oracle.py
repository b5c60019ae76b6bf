"""How many examples a learner needs that knows everything but the coefficients: how much there is left to win.

    python benchmarks/oracle.py [--seeds 300] [--save benchmarks/results/oracle.json]
    python benchmarks/oracle.py --only "knows the design alone"   # measure one anew, and keep the other rows

500 independent attributes, 25 non-zero coefficients between 0.1 and 1 at random places, unit noise, 50 attributes seen
per example: the coefficients on which `sample_efficiency.py` measures Pursuit, "coefficients 0.1 to 1", seed by seed.
The learner here is told that the attributes are independent and of unit variance, the noise, the law of the
coefficients and that there are 25; it works out what follows by Gibbs sampling, and looks at every attribute that is
more likely in than out and, with the looks that are left, at those with the largest posterior variance. It publishes
the 25 largest posterior means. In the next two rows it is also told the strongest coefficients, exactly and from the
start. Then there are two other learners. One is told the design and, at any time, what its model leaves unexplained,
but not the law of the coefficients, and goes by Pursuit's rules. The other is told that no two attributes go along with
each other, that their means are zero and that some 25 matter; it learns the noise and how large effects are, and looks
and publishes as the first does, by a posterior in which every coefficient is independent of the others (mean field).

All of these publish after every block what they think at that moment. In the last two rows, what is published has to
prove itself as it has to in Pursuit: a candidate, put up as often as Pursuit decides, takes the place of what is
published once it has predicted new examples no worse.

Of each example only the attributes looked at are drawn; what the others add to y is noise. Medians and quartiles over
the seeds of the first time the exact risk is that low, and of the last time that it is not ("for good"); a run ends
after 9,000 examples, and counts as 9,000 if it has not come that close. "leave 4 %" is the share of the runs that were
within 2 % and later were not even within 4 %. This is no lower bound: the rule for the looks does well, but none has
been shown to be the best. Needs numba, which comes with skglm.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from sample_efficiency import UNUSED

import keyhole as kh
from keyhole.learners.pursuit.constants import DECIDE_AFTER, LATEST, SOONEST

LOOKS, NONZERO, WEAKEST = 50, 25, 0.1
LIMIT, DEADLINE = 9_000, 5_000
SWEEPS, BURN = 45, 5
GRID = 40  # sizes instead of all between: posterior means move by a thousandth
SPREAD = 0.7  # of the number of non-zero coefficients; were it exact, none could enter or leave alone

# Coefficients of this size and more are told; the largest of the others is below it.
TOLD: dict[str, Callable[[np.ndarray], float]] = {
    "knows design and prior": lambda _sizes: np.inf,
    "and is told the 15 strongest": lambda sizes: float(np.sort(sizes)[-15]),
    "and is told all of 0.3 and more": lambda _sizes: 0.3,
}
RULED, MEAN_FIELD = "knows the design alone", "knows that nothing is correlated"
PROVED = ", and proves what it publishes"
LABELS = [*TOLD, RULED, MEAN_FIELD, next(iter(TOLD)) + PROVED, MEAN_FIELD + PROVED]
T_ADD, T_DROP, OPTIMISM = 3.0, 2.0, 0.7  # as in Pursuit


@njit
def add_up(looked: np.ndarray, grams: np.ndarray, products: np.ndarray, weights: np.ndarray, d: int) -> Any:
    """The weighted sums of X'X and X'y over the blocks, each at its place among the ``d`` attributes."""
    G, b = np.zeros((d, d)), np.zeros(d)
    for t in range(len(looked)):
        for i, row in enumerate(looked[t]):
            b[row] += weights[t] * products[t, i]
            for j, column in enumerate(looked[t]):
                G[row, column] += weights[t] * grams[t, i, j]
    return G, b


@njit
def weigh(u: float, g: float, odds: float, values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """The weight of each value of a coefficient given the others, in place; returns that of zero, and two moments."""
    peak = 0.0
    for i, value in enumerate(values):
        weights[i] = odds + value * (u - g * value / 2)
        peak = max(peak, weights[i])
    first = second = 0.0
    for i, value in enumerate(values):
        weights[i] = math.exp(weights[i] - peak) if weights[i] > peak - 30 else 0.0
        first += weights[i] * value
        second += weights[i] * value**2
    return math.exp(-peak), first, second


@njit
def gibbs(G: np.ndarray, b: np.ndarray, theta: np.ndarray, law: tuple[Any, ...], uniforms: np.ndarray) -> np.ndarray:
    """Draws the coefficients one after the other given the rest, in so many sweeps; ``theta`` moves along.

    The law: which are free, their possible values, and about how many are not zero. Returns of each the probability to
    be in, the mean and the second moment, averaged over the sweeps.
    """
    free, values, number = law
    residual = b - G @ theta
    moments, weights = np.zeros((3, theta.size)), np.empty(values.size)
    k = np.count_nonzero(theta[free])
    for t in range(SWEEPS):
        for j, uniform in zip(free, uniforms[t]):  # noqa: B905 (numba knows no strict)
            old, g = theta[j], G[j, j]
            k -= old != 0
            odds = math.log((k + 1) / (free.size - k) / values.size) + (number - k - 0.5) / SPREAD**2
            out, first, second = weigh(residual[j] + g * old, g, odds, values, weights)
            total = out + weights.sum()
            if t >= BURN:
                moments[0, j] += 1 - out / total
                moments[1, j] += first / total
                moments[2, j] += second / total
            new, left = 0.0, uniform * total - out
            if left > 0:
                new = values[min(np.searchsorted(np.cumsum(weights), left), values.size - 1)]
                k += 1
            if new != old:
                theta[j] = new
                residual -= G[j] * (new - old)
    return moments / (SWEEPS - BURN)


class Oracle:
    """Knows all but the coefficients it is not told, whose sizes are uniform between ``WEAKEST`` and ``largest``."""

    def __init__(self, told: np.ndarray, largest: float, rng: np.random.Generator) -> None:
        self.theta, self.free, self.rng = told.copy(), np.flatnonzero(told == 0), rng
        sizes = WEAKEST + (largest - WEAKEST) * (np.arange(GRID) + 0.5) / GRID
        self.values = np.concatenate([sizes, -sizes])
        self.number = NONZERO - np.count_nonzero(told)
        share = self.number / self.free.size
        self.inside, self.mean, self.square = np.ones(told.size), told.copy(), told**2
        self.inside[self.free], self.square[self.free] = share, share * np.mean(sizes**2)
        self.looked = np.empty((LIMIT // 10, LOOKS), dtype=np.int64)
        self.grams, self.products = np.empty((LIMIT // 10, LOOKS, LOOKS)), np.empty((LIMIT // 10, LOOKS))
        self.n = 0  # blocks

    def choose(self) -> np.ndarray:
        return least_known(self.inside, self.mean, self.square, self.rng)

    def absorb(self, looked: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
        """Takes in a block of examples, and works out anew what all of them say."""
        self.looked[self.n], self.grams[self.n], self.products[self.n] = looked, X.T @ X, X.T @ y
        self.n = n = self.n + 1
        # An old block is worth what is known today about the attributes it did not look at.
        noise = 1 + self.square.sum() - self.square[self.looked[:n]].sum(axis=1)
        G, b = add_up(self.looked[:n], self.grams[:n], self.products[:n], 1 / noise, self.theta.size)
        uniforms = self.rng.random((SWEEPS, self.free.size))
        moments = gibbs(G, b, self.theta, (self.free, self.values, self.number), uniforms)
        self.inside[self.free], self.mean[self.free], self.square[self.free] = moments[:, self.free]

    @property
    def published(self) -> np.ndarray:
        return largest(self.mean)


class Ruled:
    """Knows the design and how good its model is; who stands out joins, and who does not any more leaves."""

    def __init__(self, coef: np.ndarray, rng: np.random.Generator) -> None:
        self.coef, self.mean, self.members = coef, np.zeros(coef.size), np.zeros(coef.size, dtype=bool)
        self.G, self.b = np.zeros((coef.size, coef.size)), np.zeros(coef.size)
        self.ties, self.reach = rng.random(coef.size), np.full(coef.size, np.inf)

    def choose(self) -> np.ndarray:
        """The members, then those with the farthest reach; those never seen by lot."""
        return np.lexsort((self.ties, -np.where(self.members, np.inf, self.reach)))[:LOOKS]

    def absorb(self, looked: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
        """Takes in a block of examples, and lets attributes join and leave until nobody moves."""
        weight = 1 / (1 + np.sum((self.coef - self.mean) ** 2))
        self.G[np.ix_(looked, looked)] += weight * X.T @ X
        self.b[looked] += weight * X.T @ y
        information = np.maximum(self.G.diagonal(), 1e-9)
        for _ in range(4 * NONZERO):
            at = np.flatnonzero(self.members)
            inverse = np.linalg.pinv(self.G[np.ix_(at, at)])
            theta = inverse @ self.b[at]
            t = np.abs(theta) / np.sqrt(inverse.diagonal())
            score = self.b - self.G[:, at] @ theta
            z = np.where(self.members, 0.0, np.abs(score) / np.sqrt(information))
            if at.size and t.min() < T_DROP:
                self.members[at[t.argmin()]] = False
            elif z.max() > T_ADD and at.size < LOOKS - 10:
                self.members[z.argmax()] = True
            else:
                break
        self.mean = np.zeros(self.b.size)
        self.mean[at] = theta
        reach = np.abs(score) / information + OPTIMISM / np.sqrt(information)
        self.reach = np.where(self.G.diagonal() > 0, reach, np.inf)

    @property
    def published(self) -> np.ndarray:
        return largest(self.mean)


@njit
def settle(G: np.ndarray, b: np.ndarray, moments: np.ndarray, share: float, size: float) -> None:
    """The moments of each coefficient given the means of the others, in turn, until nothing moves (mean field).

    A ``share`` of them is not zero; those are normal, with a variance of ``size``.
    """
    inside, mean, square = moments
    residual = b - G @ np.ascontiguousarray(mean)
    for _ in range(12):
        moved = 0.0
        for j in range(b.size):
            u, variance = residual[j] + G[j, j] * mean[j], 1 / (G[j, j] + 1 / size)
            log_odds = math.log(share / (1 - share)) + math.log(variance / size) / 2 + u * u * variance / 2
            inside[j] = 1 / (1 + math.exp(-min(log_odds, 30.0)))
            change = inside[j] * u * variance - mean[j]
            square[j] = inside[j] * ((u * variance) ** 2 + variance)
            if abs(change) > 1e-5:
                mean[j] += change
                residual -= G[j] * change
                moved = max(moved, abs(change))
        if moved < 1e-3:
            return


class MeanField:
    """Takes every two attributes to be uncorrelated, and every coefficient to be independent of what the others are."""

    def __init__(self, d: int, rng: np.random.Generator) -> None:
        self.rng, self.share = rng, NONZERO / d
        self.G, self.b = np.zeros((d, d)), np.zeros(d)
        self.moments = np.zeros((3, d))  # the probability to be in, mean and second moment, as in `gibbs`
        self.moments[2] = 1.0
        self.errors = np.zeros(2)  # squared errors on examples not learned from yet, and how many

    def choose(self) -> np.ndarray:
        return least_known(*self.moments, self.rng)

    def absorb(self, looked: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
        """Takes in a block of examples, weighed by how far off the last ones were, and works out what follows."""
        self.errors += np.sum((y - X @ self.mean[looked]) ** 2), y.size
        weight = self.errors[1] / self.errors[0]
        self.errors *= min(1.0, 200 / self.errors[1])  # what was long ago counts less
        self.G[np.ix_(looked, looked)] += weight * X.T @ X
        self.b[looked] += weight * X.T @ y
        inside, _mean, square = self.moments
        # As large as those found so far; before there are any, all together as large as what is left to explain.
        size = square.sum() / inside.sum() if inside.sum() > 1 else 1 / (weight * NONZERO)
        settle(self.G, self.b, self.moments, self.share, size)

    @property
    def mean(self) -> np.ndarray:
        mean: np.ndarray = self.moments[1]
        return mean

    @property
    def published(self) -> np.ndarray:
        return largest(self.mean)


class AtOnce:
    """Whatever is thought at the moment is published."""

    def __init__(self, d: int) -> None:
        self.coef = np.zeros(d)

    def needed(self) -> np.ndarray:
        """Nothing has to be looked at for it."""
        return np.arange(0)

    def judge(self, looked: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
        """There is nobody to be judged."""

    def propose(self, coef: np.ndarray, _n: int) -> None:
        self.coef = coef


class Proved(AtOnce):
    """A candidate is published once it has predicted new examples no worse than what is published."""

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self._candidate, self._lag, self._next = self.coef, 0.0, 0.0

    def needed(self) -> np.ndarray:
        return np.flatnonzero((self.coef != 0) | (self._candidate != 0))

    def judge(self, looked: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
        errors = (y - X @ coef[looked] for coef in (self._candidate, self.coef))
        new, old = (float(e @ e) for e in errors)
        self._lag += new - old
        if self._lag <= 0:
            self.coef = self._candidate

    def propose(self, coef: np.ndarray, n: int) -> None:
        if n >= self._next:
            self._candidate, self._lag, self._next = coef, 0.0, n + max(SOONEST * n, min(DECIDE_AFTER, LATEST * n))


def least_known(inside: np.ndarray, mean: np.ndarray, square: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Where to look: at those more likely in than out, then at those about which least is known; ties by lot."""
    variance = (square - mean**2) * (1 + 1e-6 * rng.random(mean.size))
    return np.argsort(-np.where(inside > 0.5, np.inf, variance))[:LOOKS]


def largest(coef: np.ndarray) -> np.ndarray:
    """With none but the ``NONZERO`` largest."""
    sizes = np.abs(coef)
    return np.where(sizes >= np.sort(sizes)[-NONZERO], coef, 0.0)


def look(coef: np.ndarray, at: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """``n`` examples of which only the attributes ``at`` are drawn: what the others add to y is more noise."""
    X = rng.standard_normal((n, at.size))
    unseen = np.delete(coef, at)
    return X, X @ coef[at] + np.sqrt(1 + unseen @ unseen) * rng.standard_normal(n)


def who(label: str, coef: np.ndarray, rng: np.random.Generator) -> Oracle | Ruled | MeanField:
    if label == RULED:
        return Ruled(coef, rng)
    if label == MEAN_FIELD:
        return MeanField(coef.size, rng)
    bound = TOLD[label](np.abs(coef))
    return Oracle(np.where(np.abs(coef) >= bound, coef, 0.0), min(bound, 1.0), rng)


def one_seed(seed: int, label: str) -> tuple[int, int, int, bool]:
    """When the risk is first within 10 % and 2 % of the noise floor, when within 2 % for good, if it leaves 4 %."""
    coef, rng = kh.SyntheticSource.sparse(seed=seed, weakest=WEAKEST).coef, np.random.default_rng(seed)
    oracle = who(label.removesuffix(PROVED), coef, rng)
    published = Proved(coef.size) if label.endswith(PROVED) else AtOnce(coef.size)
    n, risks = 0, []
    while n < LIMIT:
        step = 10 if n < 400 else 20
        needed, looked = published.needed(), oracle.choose()
        looked = np.concatenate([needed, looked[~np.isin(looked, needed)]])[:LOOKS]
        X, y = look(coef, looked, step, rng)
        published.judge(looked, X, y)
        oracle.absorb(looked, X, y)
        n += step
        published.propose(oracle.published, n)
        risks.append((n, float(np.sum((published.coef - coef) ** 2))))
    first = {share: next((n for n, excess in risks if excess <= share), LIMIT) for share in (0.10, 0.02)}
    for_good = max(n for n, excess in risks if excess > 0.02)
    return first[0.10], first[0.02], for_good, any(n > first[0.02] and excess > 0.04 for n, excess in risks)


def measure(label: str, seeds: int) -> dict[str, Any]:
    runs = []
    for i in range(seeds):
        runs.append(one_seed(UNUSED + i, label))
        if sys.stderr.isatty():
            print(f"{label}: {i + 1} of {seeds}", end="\r", file=sys.stderr, flush=True)
    *reached, left = np.array(runs).T
    row: dict[str, Any] = {"learner": label, "seeds": seeds}
    line = f"{label:58}"
    for share, examples in zip(("10%", "2%", "2% for good"), reached, strict=True):
        lower, median, upper = (int(q) for q in np.quantile(examples, (0.25, 0.5, 0.75)))
        row |= {f"median {share}": median, f"quartiles {share}": [lower, upper]}
        line += f"{median:>8,} {f'({lower:,} to {upper:,})':18}"
    row |= {"2% by 5000": float(np.mean(reached[1] <= DEADLINE)), "leave 4%": float(np.mean(left))}
    print(f"{line}{row['2% by 5000']:>9.0%}{row['leave 4%']:>11.1%}", flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "oracle.json")
    parser.add_argument("--only", choices=LABELS)
    settings = parser.parse_args()
    columns = "".join(f"{name:>8} {'(quartiles)':18}" for name in ("10 %", "2 %", "for good"))
    print(f"{'examples until within':58}{columns}{'by 5,000':>9}{'leave 4 %':>11}")
    rows = [measure(label, settings.seeds) for label in LABELS if settings.only in (None, label)]
    if settings.only:
        kept = json.loads(settings.save.read_text())["rows"]
        rows += [row for row in kept if row["learner"] != settings.only]
    rows.sort(key=lambda row: LABELS.index(row["learner"]))
    settings.save.write_text(json.dumps({"version": kh.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
