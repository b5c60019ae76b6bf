"""What Pursuit believes of seats about which there is doubt, between decisions and in its working model."""

import numpy as np
import pytest
from scipy import integrate, stats

import keyhole as kh
from keyhole.learners.pursuit.belief import Belief, weigh
from keyhole.learners.pursuit.budget import Budget
from keyhole.learners.pursuit.candidate import foremost
from keyhole.learners.pursuit.completion import Brought
from keyhole.learners.pursuit.constants import HANDFUL
from keyhole.learners.pursuit.evidence import Evidence
from keyhole.learners.pursuit.fit_moments import FitMoments
from keyhole.learners.pursuit.hunt import Hunt
from keyhole.learners.pursuit.seats import Seats
from keyhole.learners.pursuit.seen import Seen
from keyhole.learners.pursuit.standings import Expected
from keyhole.learners.pursuit.stepwise import Stepwise
from keyhole.query import Block

pytestmark = pytest.mark.usefixtures("each_way")

LIKELY_OR_NOT = Expected(share=0.1, effect=0.5)


def ask(source, hunt):
    """One round; `hunt` takes its decisions by itself."""
    blocks, n = hunt.choose()
    questions = zip(blocks, hunt.questions(blocks), strict=True)
    hunt.absorb([Seen(a, source.answer(kh.Query(a, n, question)).value) for a, question in questions])


def equations(d=4, n=400, seed=0, correlation=0.5):
    """Normal equations of examples with unit noise, and the coefficients behind them."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, d)) + np.sqrt(correlation) * rng.normal(size=(n, 1))
    theta = rng.normal(size=d) * np.sqrt(LIKELY_OR_NOT.effect)
    y = X @ theta + rng.normal(size=n)
    return X.T @ X / n, X.T @ y / n, np.full(d, float(n)), theta


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("z", [0.0, -1.0, 2.5, 3.5, 8.0])
def test_what_is_believed_of_a_coefficient_is_its_posterior_mean(z, spread):
    """By integrating over all coefficients, one of which is zero; ``spread`` is the unit of the attribute."""
    share, effect = LIKELY_OR_NOT
    information, b = 50.0, z * spread / np.sqrt(50.0)

    coef, likely = weigh(
        np.full((1, 1), spread**2),
        np.array([b]),
        np.array([information]),
        np.arange(1),
        expected=LIKELY_OR_NOT,
        start=np.zeros(1),
    )

    def moment(power):
        """Of the coefficient in units of the attribute's spread, which is what an attribute explains the root of."""
        error = 1.0 / np.sqrt(information)
        whole, _ = integrate.quad(
            lambda c: (
                c**power * stats.norm(0, np.sqrt(effect)).pdf(c) * stats.norm(z / np.sqrt(information), error).pdf(c)
            ),
            -10.0,
            10.0,
            points=[0.0, z / np.sqrt(information)],
            limit=400,
        )
        return share * whole

    nothing = (1 - share) * stats.norm(z / np.sqrt(information), 1.0 / np.sqrt(information)).pdf(0.0)
    assert likely[0] == pytest.approx(moment(0) / (moment(0) + nothing), rel=1e-6)
    assert coef[0] * spread == pytest.approx(moment(1) / (moment(0) + nothing), rel=1e-6, abs=1e-9)


def test_where_much_is_known_and_all_matter_it_is_least_squares():
    A, b, information, _ = equations(n=100_000)

    coef, likely = weigh(A, b, information, np.arange(4), expected=LIKELY_OR_NOT, start=np.zeros(4))

    np.testing.assert_allclose(coef, np.linalg.solve(A, b), atol=1e-3)
    np.testing.assert_allclose(likely, 1.0, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_each_is_weighed_given_what_is_believed_of_the_others(seed):
    """So that another round of it, alone and given the rest, changes nothing."""
    A, b, information, _ = equations(d=6, n=30, seed=seed)
    coef, likely = weigh(A, b, information, np.arange(6), expected=LIKELY_OR_NOT, start=np.zeros(6))

    for j in range(6):
        rest = np.where(np.arange(6) == j, 0.0, coef)
        alone, how = weigh(
            A[j : j + 1, j : j + 1],
            (b - A @ rest)[j : j + 1],
            information[:1],
            np.arange(1),
            expected=LIKELY_OR_NOT,
            start=np.zeros(1),
        )
        assert alone[0] == pytest.approx(coef[j], abs=1e-3)
        assert how[0] == pytest.approx(likely[j], abs=5e-3)


def test_those_that_are_not_free_stay_and_the_others_explain_what_they_leave():
    A, b, information, _ = equations(n=100_000)
    start = np.array([1.0, -1.0, 0.0, 0.0])

    coef, likely = weigh(A, b, information, np.array([2, 3]), expected=LIKELY_OR_NOT, start=start)

    assert coef[:2].tolist() == [1.0, -1.0]
    assert likely[:2].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(coef[2:], np.linalg.solve(A[2:, 2:], b[2:] - A[2:, :2] @ [1.0, -1.0]), atol=1e-3)
    assert start.tolist() == [1.0, -1.0, 0.0, 0.0]


def test_an_attribute_that_never_varied_or_says_nothing_is_not_likely_to_matter():
    A, b = np.diag([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])

    coef, likely = weigh(
        A, b, np.array([1e4, 1e4, 0.0]), np.arange(3), expected=LIKELY_OR_NOT, start=np.array([0.0, 0.0, 0.5])
    )

    assert likely[0] > 0.99
    assert likely[1:].tolist() == [0.0, 0.0]
    assert coef[1] == 0.0


@pytest.mark.parametrize("off", [5.0, 1e200, np.nan])
def test_nothing_is_believed_where_it_does_not_come_to_rest(off):
    """Equations that no data can have, as when two were hardly seen together."""
    A = np.array([[1.0, off], [off, 1.0]])

    assert weigh(A, np.ones(2), np.full(2, 1e4), np.arange(2), expected=LIKELY_OR_NOT, start=np.zeros(2)) is None


def looked_at(X, y):
    """What is known of attributes that have been looked at in all examples, by a model that has attribute 0."""
    d = X.shape[1]
    evidence, everybody = Evidence(d, d), np.arange(d)
    evidence.open(list(range(d)))
    sums = FitMoments(kh.Predictor([0], [2.0], n_attributes=d))(Block(everybody, X, y))
    evidence.add(Seen(everybody, sums), 1.0)
    return evidence


def a_belief(*, trust=1.0, sure=(0,), decided=(2.0, 0.0, 0.0, 0.0)):
    return Belief(np.array(decided), 0.5, np.isin(np.arange(4), sure), trust, LIKELY_OR_NOT)


@pytest.fixture(scope="module")
def examples():
    """Attribute 0 is known to have a coefficient of 2, 1 matters clearly, 2 may matter, 3 does not."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    X -= X.mean(axis=0)
    Q, _ = np.linalg.qr(X)
    X = Q * np.sqrt(300)
    return X, X @ [2.1, 1.0, 0.145, 0.0] + rng.normal(size=300)


def test_of_those_in_doubt_a_share_counts_and_of_the_unlikely_nothing(examples):
    X, y = examples
    evidence, seats = looked_at(X, y), np.arange(4)

    in_full = a_belief().about(seats, evidence, least=0.0)
    shared = a_belief().about(seats, evidence, least=0.3, share=0.8)

    assert in_full[0] == shared[0] == 2.0
    assert in_full[1] == pytest.approx(1.0, abs=0.1)
    assert 0 < abs(in_full[3]) < 0.02
    np.testing.assert_allclose(shared[1:3], 0.8 * in_full[1:3] * [1.0, shared[2] != 0.0])
    assert shared[3] == 0.0


def test_as_far_as_all_looks_cannot_be_trusted_what_was_decided_holds(examples):
    X, y = examples
    evidence, seats = looked_at(X, y), np.array([3, 1, 0])  # in the order in which they sat down
    decided = (2.0, 0.4, 0.0, 0.0)

    all_looks = a_belief(decided=decided).about(seats, evidence, least=0.1)
    half = a_belief(decided=decided, trust=0.5).about(seats, evidence, least=0.1)
    none = a_belief(decided=decided, trust=0.0)

    np.testing.assert_allclose(half, (all_looks + np.array([0.0, 0.4, 2.0])) / 2)
    assert none.about(seats, evidence, least=0.1).tolist() == [0.0, 0.4, 2.0]
    assert not none.doubts(seats)
    assert a_belief().doubts(seats)
    assert not a_belief().doubts(np.array([0]))


@pytest.mark.parametrize(("wild", "believed"), [(False, True), (True, False)])
def test_who_owes_what_it_shows_to_a_few_wild_values_is_not_believed_in(wild, believed):
    """Attribute 1 has the same covariance with the target and the same variance, but owes both to two examples."""
    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 4))
    noise = rng.normal(size=n)
    if wild:
        X[:, 1] = 1e-3 * rng.normal(size=n)
        X[:2, 1] = [np.sqrt(n / 2), -np.sqrt(n / 2)]
    X -= X.mean(axis=0)
    x = X[:, 1]
    y = 2.0 * X[:, 0] + noise + x * (0.25 - (x @ noise) / (x @ x))

    coef = a_belief().about(np.arange(4), looked_at(X, y), least=0.3)

    assert (coef[1] != 0.0) == believed


def test_the_intercept_makes_up_for_coefficients_that_change():
    means = np.array([10.0, -1.0, 3.0, np.nan])  # nobody has looked at the last one

    assert a_belief().intercept_beside(np.array([0, 1]), np.array([2.0, 0.0]), means) == 0.5
    assert a_belief().intercept_beside(np.array([2, 0]), np.array([1.0, 1.5]), means) == 0.5 - 3.0 + 5.0


def test_places_go_to_the_largest_and_newcomers_count_for_less():
    spread = np.array([1.0, 10.0, 1.0, 0.1])  # what counts is what they explain
    coef, error = np.array([0.3, -0.5, 0.0, 0.2]) / spread, np.full(4, 0.05)

    def places(most, published):
        left = foremost(most, coef, spread, error, np.array(published))
        assert set(left.tolist()) <= {0.0, *coef.tolist()}
        return left.nonzero()[0].tolist()

    nobody = [False, False, False, False]
    assert places(4, nobody) == [0, 1, 3]  # who has no coefficient has no place
    assert places(2, nobody) == [0, 1]
    assert places(1, nobody) == [1]
    assert places(1, [True, False, False, False]) == [0]  # 0.3 times the root of two, beside 0.5 less 0.1
    assert places(2, [False, False, False, True]) == [1, 3]


def a_run(n, *, d=120, n_observed=20, n_nonzero=8, seed=0, weakest=0.15):
    """A run of so many examples; calls come as (hunt, whether it has just decided)."""
    source = kh.SyntheticSource.sparse(d, n_nonzero, seed=seed, weakest=weakest)
    hunt = Hunt(d, n_nonzero, Budget.of_looks(n_observed, d, n_nonzero), np.random.default_rng(seed))
    decisions = []
    decide = hunt._decide
    hunt._decide = lambda: (decide(), decisions.append(hunt.n))
    while hunt.n < n:
        ask(source, hunt)
        yield hunt, bool(decisions) and decisions[-1] == hunt.n


@pytest.mark.parametrize("seed", range(2))
def test_what_is_published_goes_by_new_examples_between_decisions_too(seed):
    """A decision puts up one candidate, which can be published once; more are published before the next."""
    most = since_the_decision = 0
    before = None
    for hunt, decided in a_run(2_000, seed=seed):
        now = hunt.published
        since_the_decision = 0 if decided else since_the_decision + (now is not before)
        most, before = max(most, since_the_decision), now
        assert now.attributes.size <= 8
        assert set(now.attributes.tolist()) <= set(hunt.seats.members)
    assert most >= 2


@pytest.mark.parametrize("seed", range(2))
def test_the_working_model_has_the_core_and_what_is_believed_of_other_seats(seed):
    others = shares = 0
    for hunt, decided in a_run(2_000, seed=seed):
        if not decided or not hunt.core.members:
            continue
        model = dict(zip(hunt.model.members, hunt.model.theta.tolist(), strict=True))
        assert set(hunt.core.members) <= set(model) <= set(hunt.seats.members)
        sure = np.array(hunt._fit.members)[hunt._sure].tolist()
        for j, theta in zip(hunt.core.members, hunt.core.theta.tolist(), strict=True):
            if j in sure:
                assert model[j] == theta
            shares += model[j] != theta
        others += len(set(model) - set(hunt.core.members))
        P = hunt.model.inverse
        np.testing.assert_allclose(P, P.T, rtol=1e-6, atol=1e-9)
        assert np.linalg.eigvalsh(P).min() > 0
    assert others > 0
    assert shares > 0


def test_where_values_are_missing_only_matched_looks_count():
    """All looks at who goes along with a member also have what that would have explained where it could not be had."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 60)) + rng.normal(size=(3_000, 1))
    y = X[:, :6] @ [1.0, -1.0, 0.5, 0.3, 0.2, 0.2] + rng.normal(size=3_000)
    X[rng.random(X.shape) < 0.3] = np.nan
    source, hunt = kh.ArraySource(X, y), Hunt(60, 6, Budget.of_looks(20, 60, 6), np.random.default_rng(0))
    while hunt.n < 2_500:
        ask(source, hunt)
        if hunt.residual.has_holes:
            assert hunt._belief is None or not hunt._belief.doubts(hunt.seats.attributes)
            assert hunt.model.members == hunt.core.members
            assert hunt.model.theta.tolist() == hunt.core.theta.tolist()

    assert hunt.residual.has_holes
    assert hunt.core.members


def test_of_who_owes_its_spread_to_a_handful_of_examples_nothing_is_believed_beyond_what_was_decided():
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.normal(size=(4_000, 40)))
    y = X[:, :8] @ (1.0 / X[:, :8].std(axis=0)) + rng.normal(size=4_000)
    source, hunt = kh.ArraySource(X, y), Hunt(40, 8, Budget.of_looks(16, 40, 8), np.random.default_rng(0))
    decide, seen = hunt._decide, {"handful": 0, "enough": 0}

    def decide_and_look():
        before = hunt.seats.attributes
        degrees = dict(zip(before.tolist(), hunt.evidence.tails(before)[1].tolist(), strict=True))
        decide()
        core, model = (dict(zip(c.members, c.theta.tolist(), strict=True)) for c in (hunt.core, hunt.model))
        for j, known in degrees.items():
            if known < HANDFUL:
                assert model.get(j) == core.get(j)
                seen["handful"] += 1
            else:
                seen["enough"] += model.get(j) != core.get(j)

    hunt._decide = decide_and_look
    while hunt.n < 3_000:
        ask(source, hunt)

    assert min(seen.values()) > 10


def test_a_copy_of_a_member_is_not_beside_it_in_the_working_model():
    """So that the covariance can be inverted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    X[:, 2] = X[:, 0] + 1e-3 * rng.normal(size=400)
    seats = Seats()
    seats.sit(range(4), Brought(np.zeros((4, 1)), np.zeros((4, 1)), np.ones(4), np.ones(4)))
    sums = FitMoments(kh.Predictor([], [], n_attributes=4))(Block(np.arange(4), X, X[:, 0] + rng.normal(size=400)))
    seats.add(Seen(np.arange(4), sums))
    fit = Stepwise(range(4), seats.completed(), np.ones(4), np.ones(4))
    fit.flip(0)
    before = fit.t()

    places, inverse = fit.beside(np.array([2, 3]))

    assert places.tolist() == [0, 3]
    np.testing.assert_allclose(inverse, np.linalg.inv(np.cov(X[:, [0, 3]].T)), rtol=1e-5)
    assert fit.chosen().tolist() == [0]
    np.testing.assert_allclose(fit.t(), before, rtol=1e-6)
