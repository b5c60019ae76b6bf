"""Algorithm 2 of Kale, Karnin, Liang & Pal (2017): greedy selection by a chain of learners from limited advice."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.sizes import check_room
from keyhole.predictor import Predictor
from keyhole.query import Block, Query, Round, Run
from keyhole.running import RunningScale
from keyhole.schedule import positive, whole
from keyhole.statistics import Examples, Moments, MomentSums


@dataclass(frozen=True)
class OnlineGreedy:
    """OnlineGreedy (Kale et al. 2017, Algorithm 2): k1 learners in a chain, each adds the attribute it trusts most.

    Reference: S. Kale, Z. Karnin, T. Liang, D. Pal, "Adaptive feature selection: computationally efficient online
    sparse linear regression under RIP", ICML 2017.

    Every batch, learner i plays an attribute and looks at a few others. Then each attribute it looked at is told the
    least squared error that it would have left after those played by the learners before: the loss g_b. No model of
    the target is assumed.

    Parameters
    ----------
    n_observed
        k0, how many attributes of one example may be looked at.
    n_nonzero_coefs
        How many attributes the predictor may have.
    k1
        How many learners there are, and attributes are played; at most ``n_nonzero_coefs`` and half of ``n_observed``,
        as each learner looks at ``n_observed // k1`` attributes and learns nothing from its own alone. "auto" takes as
        many as that.
    batch_size
        B, how many examples a batch has; "auto" takes four for every attribute played, and at least 20.
    eta
        The learning rate, as a multiple of the theory's sqrt(M log d / (d b)) in batch b, M = n_observed // k1.
    baseline
        Whether to tell learners how much smaller g_b is than without the attribute, which is the same up to a constant
        for all attributes of a batch, and far less noisy once divided by small probabilities. False tells g_b itself.
    refit_every
        After how many batches the leaders, each learner's attribute of least loss, are looked at in one more batch, to
        be fitted and published; None publishes, after every batch, the attributes played in it, fitted to it alone.

    Notes
    -----
    Time O(n_observed * k1) per example and O(k1 d) per batch; memory O(k1 d).

    Substituted: the paper builds on budgeted experts (BEXP; Amin, Kale, Tesauro & Turaga 2015), of which only the
    guarantee could be confirmed. Here each learner is exponential weights with limited advice (in the manner of Seldin,
    Bartlett, Crammer & Abbasi-Yadkori 2014), which has the same interface and rate: j is drawn from p, M-1 others
    uniformly from the rest, and what is looked at counts 1 / (p_i + (1 - p_i)(M - 1) / (d - 1)). As the number of
    batches is not known, its rate shrinks like 1 / sqrt(b). Losses are divided by the mean square of the targets seen
    so far, where the paper assumes targets within [-1, 1]. The paper predicts each example of a batch by the
    Vovk-Azoury-Warmuth forecaster on the attributes played; nothing is predicted here, and what is published is that
    forecaster's last state: ridge regression with unit ridge, in units of what was seen.

    Every learner hears of an attribute about once in d k1 / n_observed batches, so it is slow where d is large. Told
    g_b itself (``baseline=False``) for 50 of 500 attributes, it learns next to nothing in 60,000 examples: how often an
    attribute was looked at outweighs what was seen. Fitted to one batch alone (``refit_every=None``), what is
    published is as noisy as that batch.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=20, n_nonzero=2, seed=0)
    >>> result = kh.learn(OnlineGreedy(n_observed=8, n_nonzero_coefs=2), source, max_examples=5_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    k1: int | str = "auto"
    batch_size: int | str = "auto"
    eta: float = 10.0
    baseline: bool = True
    refit_every: int | None = 50

    def __post_init__(self) -> None:
        k0, s = whole(self.n_observed, "n_observed", least=2), whole(self.n_nonzero_coefs, "n_nonzero_coefs")
        if self.k1 != "auto" and whole(self.k1, "k1") > min(s, k0 // 2):
            raise Misuse(
                f"k1 must be at most n_nonzero_coefs={s} and half of n_observed={k0}, not {self.k1}; "
                "every learner needs something to compare with."
            )
        if self.batch_size != "auto":
            whole(self.batch_size, "batch_size")
        positive(self.eta, "eta")
        if self.refit_every is not None:
            whole(self.refit_every, "refit_every")

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run; what is played and looked at is drawn from ``rng``."""
        d, (k1, M, B) = n_attributes, self.sizes(n_attributes)
        losses = np.zeros((k1, d))
        scale = RunningScale(d)
        fit: Fit | None = None
        published: Predictor | None = None
        b = 0
        while True:
            b += 1
            p = exponential_weights(losses, self.eta * np.sqrt(M * np.log(d) / (d * b)))
            played, looks = draw(p, M, rng)
            queries = [Query(np.unique(looks), B, Examples())]
            if self.refit_every is not None and b % self.refit_every == 0:
                fit = refitted(leaders(losses), before=fit)
                if fit.attributes.size:
                    queries.append(Query(fit.attributes, max(B, 20 * k1), Moments()))
            answers = yield Round(queries, published)
            S, X, y = queries[0].attributes, answers[0].values, answers[0].targets
            scale.add(S, X, y)
            told = advice(X, y, np.searchsorted(S, played), np.searchsorted(S, looks), baseline=self.baseline)
            for i, U in enumerate(looks):
                losses[i, U] += told[i] / scale.target**2 / inclusion(p[i, U], d, M)
            published = None
            if self.refit_every is None:
                V = np.unique(played)
                published = Fit(V, Moments()(Block(V, X[:, np.searchsorted(S, V)], y))).predictor(scale, d)
            elif fit is not None and len(answers) > 1:
                fit = fit.seen(answers[1])
                published = fit.predictor(scale, d)

    def sizes(self, n_attributes: int) -> tuple[int, int, int]:
        """k1, M and B: how many learners, how many attributes each looks at, and how many examples a batch has."""
        k0, s = self.n_observed, self.n_nonzero_coefs
        check_room(k0, n_attributes)
        k1 = min(s, k0 // 2) if isinstance(self.k1, str) else self.k1
        B = max(20, 4 * k1) if isinstance(self.batch_size, str) else self.batch_size
        return k1, k0 // k1, B

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors report no experiments. Their theory has eta=1 and a k1 above the true number."""
        most = min(n_nonzero_coefs, n_observed // 2)
        return {
            "k1": sorted({max(1, min(most, n_observed // m)) for m in (2, 4, 7, 10, 17)}),
            "batch_size": [20, 50, 100, 200],
            "eta": [1.0, 10.0, 100.0],
        }


def exponential_weights(losses: Floats, rate: float) -> Floats:
    """Every learner's p: each row proportional to exp(-rate * loss)."""
    p = np.exp(-rate * (losses - losses.min(axis=1, keepdims=True)))
    weights: Floats = p / p.sum(axis=1, keepdims=True)
    return weights


def draw(p: Floats, M: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """For every learner the attribute it plays, drawn from its row of ``p``, and the M it looks at, that one first."""
    d = p.shape[1]
    below = np.cumsum(p, axis=1)
    u = rng.random(len(p)) * below[:, -1]
    played = np.array([np.searchsorted(row, at, side="right") for row, at in zip(below, u, strict=True)])
    played = np.minimum(played, d - 1)
    rest = np.array([rng.choice(d - 1, M - 1, replace=False) for _ in played]).reshape(len(p), M - 1)
    rest += rest >= played[:, None]  # numbered as if what is played were not there
    return played, np.column_stack([played, rest])


def inclusion(p: Floats, d: int, M: int) -> Floats:
    """How probable it is that an attribute is looked at which is played with probability ``p``."""
    return p + (1.0 - p) * (M - 1) / max(d - 1, 1)


def advice(X: Floats, y: Floats, played: Ints, looks: Ints, *, baseline: bool) -> Floats:
    """What learner i is told of each attribute j it looked at: g_b of those played before it and j.

    g_b is the mean square that least squares leaves of ``y``. With ``baseline``, g_b of those played before is taken
    off. ``played`` and ``looks`` are places in the columns of ``X``.
    """
    told = np.empty(looks.shape)
    # What least squares leaves after those played before: of the target, and of every column (Gram-Schmidt).
    left, columns = y.copy(), X.copy()
    tiny = 1e-10 * np.einsum("ij,ij->j", X, X)  # a column of which no more is left is a combination of the others
    for i, U in enumerate(looks):
        squares = np.einsum("ij,ij->j", columns, columns)
        with_something_left = squares > tiny
        gain = np.zeros(squares.size)
        np.divide((left @ columns) ** 2, squares, out=gain, where=with_something_left)
        told[i] = -gain[U] if baseline else left @ left - gain[U]
        v = played[i]
        if with_something_left[v]:
            unit = columns[:, v] / np.sqrt(squares[v])
            left -= (unit @ left) * unit
            columns -= np.outer(unit, unit @ columns)
    return told / y.size


def leaders(losses: Floats) -> Ints:
    """Each learner's attribute of least loss, leaving out those of the learners before it; ascending.

    One of which nothing was told is no leader. Its loss of 0 would tie with all others like it, or even be the least,
    and the lowest index win: on designs that list the attributes that matter first, a gift.

    >>> leaders(np.array([[0.0, -1.0, -3.0], [0.0, -2.0, -9.0]]))
    array([1, 2])
    >>> leaders(np.array([[0.0, 4.0, 3.0], [0.0, 0.0, 5.0]]))
    array([2])
    """
    open_losses = np.where(losses == 0, np.inf, losses)
    chosen: list[int] = []
    for row in open_losses:
        best = int(np.argmin(row))
        if row[best] < np.inf:
            chosen.append(best)
            open_losses[:, best] = np.inf
    return np.sort(np.array(chosen, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Fit:
    """Attributes, and what was seen of them for their coefficients."""

    attributes: Ints
    sums: MomentSums | None = None

    def seen(self, sums: MomentSums) -> "Fit":
        """With more examples taken in."""
        return Fit(self.attributes, sums if self.sums is None else self.sums + sums)

    def predictor(self, scale: RunningScale, n_attributes: int) -> Predictor:
        """Ridge regression with unit ridge, in units of ``scale``: where Vovk, Azoury and Warmuth's forecaster ends."""
        assert self.sums is not None  # noqa: S101
        raw = self.sums.products + self.sums.n * np.outer(self.sums.mean, self.sums.mean)
        units = scale.of(self.attributes)
        A = raw[:-1, :-1] / np.outer(units, units) + np.eye(units.size)
        return Predictor(self.attributes, np.linalg.solve(A, raw[:-1, -1] / units) / units, n_attributes=n_attributes)


def refitted(attributes: Ints, before: Fit | None) -> Fit:
    """The fit of ``attributes``: the one from ``before`` goes on if they are the same."""
    if before is not None and np.array_equal(attributes, before.attributes):
        return before
    return Fit(attributes)
