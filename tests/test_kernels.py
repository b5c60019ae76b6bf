"""The compiled loops, against the numpy that they stand for."""

import shutil
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole import kernels
from keyhole.learners.pursuit.belief import Belief
from keyhole.learners.pursuit.completion import Brought, Completion
from keyhole.learners.pursuit.evidence import Core, Evidence
from keyhole.learners.pursuit.fit_moments import FitMoments
from keyhole.learners.pursuit.publication import squared_error
from keyhole.learners.pursuit.seen import Seen
from keyhole.learners.pursuit.standings import Expected, Standings
from keyhole.learners.pursuit.stepwise import Stepwise, sweep
from keyhole.query import Block
from keyhole.statistics import Moments, ResidualSquares

needs_kernels = pytest.mark.skipif(kernels.compiled is None, reason="this build has no compiled loops")


@contextmanager
def in_numpy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "compiled", None)
        yield


def both_ways(work):
    with in_numpy():
        plain = work()
    return work(), plain


def close(found, expected, rtol=1e-9):
    """The same but for rounding, which is relative to the largest number around."""
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0.0))


def a_block(rng, n, p, order, d=60, size=1.0):
    values = np.asarray(rng.normal(size=(n, p)) * rng.uniform(0.1, 10.0, p) * size + 3.0 * size, order=order)
    return Block(np.sort(rng.choice(d, p, replace=False)), values, rng.normal(size=n) - 2.0)


blocks = {
    "n": st.integers(1, 700),
    "p": st.integers(1, 55),
    "order": st.sampled_from("CF"),
    "seed": st.integers(0, 1_000),
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler here")
def test_where_there_is_a_compiler_the_loops_are_compiled():
    assert kernels.compiled is not None


@needs_kernels
@given(**blocks, size=st.sampled_from([1.0, 1e-8, 1e12, 1e75]), limit=st.sampled_from([0.5, np.inf]))
def test_moments_and_powers_of_a_block_are_those_of_numpy(n, p, order, seed, size, limit):
    rng = np.random.default_rng(seed)
    block = a_block(rng, n, p, order, size=size)
    model = kh.Predictor(block.attributes[::2], rng.normal(size=block.attributes[::2].size) / size, 0.5, 60)
    statistic = FitMoments(model, np.full(p, 3.0 * size), limit)

    found, expected = both_ways(lambda: statistic(block))

    assert found.moments.n == expected.moments.n
    close(found.moments.mean, expected.moments.mean)
    spread = np.sqrt(expected.moments.products.diagonal())
    unit = np.outer(spread, spread) + n * (size * 1e-13) ** 2  # what rounding leaves of a constant
    np.testing.assert_allclose(found.moments.products / unit, expected.moments.products / unit, atol=1e-9)
    at = block.attributes.searchsorted(model.attributes)
    e = np.clip(block.targets - block.values[:, at] @ model.coef - model.intercept, -limit, limit)
    x = block.values - expected.moments.mean[:-1]
    t = np.clip(x, -1e70, 1e70)
    terms = {"ex": (1, x, 1), "ee_x": (2, x, 1), "ee_xx": (2, x, 2), "e_xx": (1, x, 2)}
    terms |= {"e_xxx": (1, t, 3), "xxx": (0, t, 3), "xxxx": (0, t, 4)}
    for name, (of_e, values, of_x) in terms.items():
        rounding = 1e-9 * (np.abs(e) ** of_e @ (np.abs(values) + size * 1e-13) ** of_x + np.finfo(float).tiny)
        assert (np.abs(getattr(found, name) - getattr(expected, name)) <= rounding).all(), name
    assert abs(found.e - expected.e) <= 1e-9 * np.abs(e).sum()
    assert abs(found.ee - expected.ee) <= 1e-9 * np.sum(e**2)
    assert found.span == expected.span


@needs_kernels
@pytest.mark.parametrize("distance", [-1.1, -1.000001, -0.999999, 0.0, 0.999999, 1.000001, 1.1])
def test_a_target_too_far_from_what_is_usual_is_left_to_numpy(distance):
    block = a_block(np.random.default_rng(0), 40, 6, "C")
    fill = np.linspace(-1.0, 1.0, 6)
    model = kh.Predictor(block.attributes[[1, 4]], [1.0, 2.0], 0.5, 60)
    usual = 0.5 + fill[1] + 2.0 * fill[4]
    block.targets[:] = usual
    block.targets[7] = usual + 100.0 * distance
    told = block.values, block.targets, block.attributes, model.attributes, model.coef, 0.5, fill, np.inf, 100.0

    found = kernels.compiled.fit_sums(*told, np.zeros(7), np.zeros((7, 7)), np.zeros((7, 6)))

    assert (found is None) == (abs(distance) > 1.0)


@needs_kernels
@pytest.mark.parametrize("order", ["C", "F"])
def test_squared_errors_are_those_of_numpy(order):
    rng = np.random.default_rng(0)
    block = a_block(rng, 30, 9, order)
    seen = Seen(block.attributes, FitMoments(kh.Predictor([], [], 0.0, 60))(block))
    for needed in (block.attributes[:0], block.attributes[[0, 3, 8]], block.attributes):
        predictor = kh.Predictor(needed, rng.normal(size=needed.size), 0.7, 60)
        close(*both_ways(partial(squared_error, predictor, seen)))


@needs_kernels
@pytest.mark.parametrize("needed", [[3], [0, 2], [0, 9], [0, 1, 2]])
def test_an_attribute_that_a_block_does_not_show_is_refused(needed):
    needed, coef = np.array(needed), np.ones(len(needed))
    shown, moments = np.array([0, 1, 5]), (10, np.zeros(4), np.zeros((4, 4)))
    with pytest.raises(ValueError, match="there is no attribute"):
        kernels.compiled.squared_error(shown, needed, coef, 0.0, *moments)
    values, targets, sums = np.zeros((10, 3)), np.zeros(10), (np.zeros(4), np.zeros((4, 4)), np.zeros((7, 3)))
    with pytest.raises(ValueError, match="there is no attribute"):
        kernels.compiled.fit_sums(values, targets, shown, needed, coef, 0.0, np.zeros(3), 1.0, 1.0, *sums)


@needs_kernels
@pytest.mark.parametrize("trouble", ["a missing value", "a wild target", "values that do not lie together"])
def test_what_the_compiled_loops_cannot_do_is_done_in_numpy(trouble):
    block = a_block(np.random.default_rng(0), 40, 6, "C")
    if trouble == "a missing value":
        block.values[3, 2] = np.nan
    elif trouble == "a wild target":
        block.targets[5] = 1e9
    else:
        block = block._replace(values=block.values[::2], targets=block.targets[::2])
    statistic = FitMoments(kh.Predictor(block.attributes[:2], [1.0, 2.0], 0.0, 60), np.full(6, 3.0), 10.0, 100.0)

    found, expected = both_ways(lambda: statistic(block))

    close(found.moments.products, expected.moments.products)
    assert (found.moments.pairs is None) == (trouble != "a missing value")


@needs_kernels
@given(**blocks)
def test_squares_and_products_of_a_block_are_those_of_numpy(n, p, order, seed):
    rng = np.random.default_rng(seed)
    block = a_block(rng, n, p, order)
    theta, probe = rng.normal(size=60) * (rng.random(60) < 0.4), rng.normal(size=60) * (rng.random(60) < 0.4)

    found, expected = both_ways(lambda: ResidualSquares(theta, probe)(block))

    for name in ("n", "squares", "products", "residual_squares", "target_squares", "along_probe"):
        close(getattr(found, name), getattr(expected, name))


@needs_kernels
@given(n=st.integers(1, 900), p=st.integers(0, 12), kind=st.sampled_from("df"), seed=st.integers(0, 100))
def test_columns_are_read_as_numpy_reads_them(n, p, kind, seed):
    rng = np.random.default_rng(seed)
    array = np.asfortranarray(rng.normal(size=(1_000, 12)).astype(kind))
    start, columns = int(rng.integers(0, 1_001 - n)), rng.permutation(12)[:p]
    cells = np.empty((n, p), order="F")

    kernels.compiled.read_columns(array, start, columns, cells)

    np.testing.assert_array_equal(cells, array[start : start + n][:, columns])
    for rows, beyond in ((1_001 - n, columns), (start, np.append(columns, 12))):
        with pytest.raises(ValueError, match=r"not as many rows|there are only"):
            kernels.compiled.read_columns(array, rows, beyond, np.empty((n, beyond.size), order="F"))


@needs_kernels
@given(k=st.integers(1, 20), more=st.integers(0, 10), seed=st.integers(0, 1_000))
def test_moments_are_joined_as_they_are_added(k, more, seed):
    rng = np.random.default_rng(seed)
    one = Moments()(a_block(rng, 30, k, "C"))
    other = Moments()(a_block(rng, 50, k + more, "C"))
    places = rng.permutation(k + more + 1)[: k + 1]

    found, expected = one.joined(other, places), one + other.on(places)

    assert found.n == expected.n
    close(found.mean, expected.mean)
    close(found.products, expected.products)


def after_some_looks(seed, d=90, n_seats=12):
    """Evidence of a run: blocks, seats that come and go, residuals that move."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3_000, d)) + rng.normal(size=(3_000, 1))
    y = X[:, :8] @ rng.normal(size=8) + rng.normal(size=3_000)
    evidence, seats, used = Evidence(d, n_seats), [], 0
    for j in rng.permutation(d)[:n_seats].tolist():
        for n in (10, 37, 120):
            others = rng.choice(np.setdiff1d(np.arange(d), seats), 20, replace=False)
            attributes = np.sort(np.append(seats, others).astype(np.int64))
            model = kh.Predictor(np.sort(seats), np.full(len(seats), 0.3), 0.1, d)
            shown = slice(used, used + n)
            block = Block(attributes, X[shown][:, attributes], y[shown])
            evidence.add(Seen(attributes, FitMoments(model, evidence.means[attributes])(block)), weight=0.5 + 1 / n)
            used += n
        evidence.open([j])
        seats.append(j)
        if len(seats) % 4 == 0:
            evidence.close(seats.pop(1))
        evidence.move_residuals(np.array(seats), np.linspace(-0.1, 0.1, len(seats)))
    evidence.learn_prior()
    members = seats[::2]
    C = np.cov(X[:, members].T)
    core = Core(members, rng.normal(size=len(members)), 0.0, C.diagonal().copy(), np.linalg.inv(C))
    return evidence, core


@needs_kernels
@pytest.mark.parametrize("seed", range(5))
def test_what_attributes_have_shown_and_how_they_score_is_as_in_numpy(seed):
    def work():
        evidence, core = after_some_looks(seed)
        everybody, some = np.arange(90), np.array([3, 80, 41])
        told = evidence.scores(everybody, core), evidence.scores(some, core), evidence.tails(some)
        return evidence, *told, evidence.equations(core.attributes)

    (evidence, all_scores, few_scores, tails, equations), plain = both_ways(work)

    for found, expected in zip(evidence.total, plain[0].total, strict=True):
        close(found, expected)
    close(evidence.means, plain[0].means)
    for found, expected in ((all_scores, plain[1]), (few_scores, plain[2])):
        for name in ("score", "noise", "beyond", "worth", "covariance"):
            close(getattr(found, name), getattr(expected, name), rtol=1e-7)
    close(tails, plain[3])
    for found, expected in zip(equations, plain[4], strict=True):
        close(found, expected)


@needs_kernels
@pytest.mark.parametrize("seed", range(3))
def test_attributes_stand_as_in_numpy_also_those_that_never_varied(seed):
    def work():
        evidence, core = after_some_looks(seed)
        everybody = np.arange(90)
        scores = evidence.scores(everybody, core)
        scores.beyond[4], scores.noise[4] = 0.0, 0.0  # a constant,
        scores.beyond[5], evidence.means[5] = 1e-22, 1e6 / 3  # another, with the spread of rounding,
        evidence.total.information[6] = 0.0  # and somebody whom nobody has seen
        standings = Standings(90)
        standings.update(everybody, scores, evidence, Expected(share=0.1, effect=0.5), 2.0)
        return standings

    found, expected = both_ways(work)

    seen = np.arange(90) != 6
    for name in ("z", "error", "doubt"):
        close(getattr(found, name)[seen], getattr(expected, name)[seen], rtol=1e-7)
    assert found.doubt[6] == expected.doubt[6] == np.inf
    assert found.z[4] == found.z[5] == 0.0 < found.doubt[5] < 3 * np.sqrt(2.0)


def in_steps(seed):
    """A target and twelve seats, of which some joined later than others, and what they had been told."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2_000, 13)) @ rng.normal(size=(13, 13))
    sizes, told = [4, 5, 8, 13], rng.normal(size=(12, 13))
    told_by, beyond = rng.uniform(0, 300, size=(12, 13)) * np.tri(12, 13), rng.uniform(1, 5, 12)
    looks, beyond[7] = rng.uniform(0, 300, 12), 1e3  # one varied far more before it sat down
    completion = None
    for size, n in zip(sizes, [2_000, 700, 300, 100], strict=True):
        moments = Moments()(Block(np.arange(size - 1), X[-n:, 1:size], X[-n:, 0]))
        moments = moments.on(np.append(size - 1, np.arange(size - 1)))  # the target comes first among seats
        if completion is None:
            completion = Completion(moments, 12)
        else:
            completion.extend(moments, Brought(told, told_by, beyond, looks))
    return completion


@needs_kernels
@pytest.mark.parametrize("seed", range(5))
def test_data_missing_in_steps_are_completed_as_in_numpy(seed):
    found, expected = both_ways(lambda: in_steps(seed))

    close(found.covariance, expected.covariance, rtol=1e-7)
    close(found.mean, expected.mean, rtol=1e-7)
    close(found.behind, expected.behind)


@needs_kernels
@pytest.mark.parametrize("seed", range(20))
def test_stepwise_regression_settles_where_it_does_in_numpy(seed):
    rng = np.random.default_rng(100 + seed)
    inflation, degrees, price = rng.uniform(1, 3, 12), rng.uniform(2, 500, 12), np.ones(12)
    start = rng.choice(12, 5, replace=False).tolist()

    def work():
        fit = Stepwise(range(12), in_steps(seed), inflation, price, unseen=0.1 * seed, robust_degrees=degrees)
        fit.settle(start)
        return fit

    found, expected = both_ways(work)

    assert found.chosen().tolist() == expected.chosen().tolist()
    with in_numpy():
        expected_t = expected.t()
    close(found.t(), expected_t, rtol=1e-6)
    close(found.coefficients()[0], expected.coefficients()[0], rtol=1e-6)


@needs_kernels
@pytest.mark.parametrize("off", [0.0, 1e-3, 1e3, np.nan])
def test_coefficients_by_all_looks_are_as_in_numpy(off):
    rng = np.random.default_rng(1)

    def work():
        fit = Stepwise(range(12), in_steps(1), np.ones(12), np.ones(12))
        for i in (9, 1, 4):
            fit.flip(i)
        completed = in_steps(1).covariance
        fit.equations = completed[1:, 1:] * (1.0 + off * np.tri(12)), completed[1:, 0].copy()
        return fit

    found, expected = both_ways(work)

    with in_numpy():
        expected_theta, _ = expected.coefficients()
    close(found.coefficients()[0], expected_theta, rtol=1e-7)
    assert np.isfinite(expected_theta).all()
    singular = np.zeros((12, 12)), rng.normal(size=12)
    found.equations = expected.equations = singular
    with in_numpy():
        expected_theta, _ = expected.coefficients()
    close(found.coefficients()[0], expected_theta, rtol=1e-7)


@needs_kernels
@pytest.mark.parametrize("k", range(5))
def test_sweeping_is_the_same_as_in_numpy(k):
    X = np.random.default_rng(k).normal(size=(40, 5))

    def work():
        A = X.T @ X
        sweep(A, k)
        sweep(A, (k + 1) % 5)
        return A

    found, expected = both_ways(work)
    close(found, expected)


@needs_kernels
@pytest.mark.parametrize("k", [-1, 3])
def test_a_variable_that_is_not_there_is_not_swept(k):
    with pytest.raises(ValueError, match="there are only 3"):
        kernels.compiled.sweep(np.eye(3), k)


@needs_kernels
@pytest.mark.parametrize("learner", [kh.Exploration(50, 25), kh.Hybrid(50, 25)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_papers_learners_end_where_they_do_in_numpy(learner, order):
    X, y = kh.SyntheticSource.paper(seed=3).examples(20_000)
    X = np.asarray(X, order=order)

    found, expected = both_ways(lambda: kh.learn(learner, kh.ArraySource(X, y)))

    assert found.bill.values == expected.bill.values
    assert found.predictor.attributes.tolist() == expected.predictor.attributes.tolist()
    close(found.predictor.coef, expected.predictor.coef, rtol=1e-8)


@needs_kernels
@pytest.mark.parametrize("seed", range(3))
def test_pursuit_finds_what_it_finds_in_numpy(seed):
    """Not to the last digit: what rounding does to a score that is on the line decides who is looked at next."""
    source = kh.SyntheticSource.sparse(200, 10, seed=seed, correlation=0.3)
    X, y = source.examples(6_000)

    found, expected = both_ways(lambda: kh.learn(kh.Pursuit(30, 10), kh.ArraySource(X, y)).predictor)

    assert found.attributes.tolist() == expected.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    close(found.coef, expected.coef, rtol=0.05)


@needs_kernels
@pytest.mark.parametrize("argument", [1, 2, 3, 7, 10, 11, 12, 13])
def test_arrays_that_do_not_fit_are_refused_and_not_written_beyond(argument):
    d, k, p = 20, 3, 5
    a, seats, sums, pairs = np.arange(p), np.arange(k), np.zeros((9, d)), np.zeros((4, k, d))
    whole = [a, np.zeros(p + 1), np.zeros((p + 1, p + 1)), np.zeros((7, p)), 0.0, 10, 1.0, seats, 0, 0.0]
    whole += [np.zeros(d), np.zeros(d), sums, pairs]
    kernels.compiled.add_block(*whole)
    whole[argument] = whole[argument][..., :-1].copy() if argument != 7 else np.array([0, 1, p])
    with pytest.raises(ValueError, match=r"is needed|there are only"):
        kernels.compiled.add_block(*whole)
    with pytest.raises(TypeError, match="14 arguments are needed, not 1"):
        kernels.compiled.add_block(a)


@needs_kernels
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("trust", [1.0, 0.4])
def test_what_is_believed_is_the_same_as_in_numpy(seed, trust):
    def work():
        evidence, core = after_some_looks(seed)
        decided, sure = np.zeros(90), np.zeros(90, dtype=bool)
        decided[core.members] = core.theta
        sure[core.members[::2]] = True
        belief = Belief(decided, 0.0, sure, trust, Expected(0.1, 0.5))
        return belief.about(core.attributes, evidence, least=0.0), core

    (found, core), (plain, _) = both_ways(work)

    close(found, plain)
    assert (found[::2] == core.theta[::2]).all()
    assert (found[1::2] != core.theta[1::2]).all()


@needs_kernels
@pytest.mark.parametrize("argument", [0, 1, 3, 4, 5, 8, 9])
def test_seats_that_are_not_there_are_refused(argument):
    seats, tables = np.arange(3), (0.0, np.ones((9, 20)), np.ones((4, 5, 20)))
    told = [seats, seats.copy(), *tables, seats.copy(), -1.0, 1.0, np.zeros(3), np.zeros(3)]
    kernels.compiled.believe(*told)
    if argument in (0, 1, 5):
        told[argument] = np.array([0, 1, 20])
    elif argument in (3, 4):
        told[argument] = told[argument][..., :2].copy()
    else:
        told[argument] = told[argument][:-1].copy()
    with pytest.raises(ValueError, match=r"is needed|there are only"):
        kernels.compiled.believe(*told)


@needs_kernels
@pytest.mark.parametrize("argument", [1, 2, 5, 7, 9, 10])
def test_a_block_that_does_not_fit_is_not_recalled(argument):
    d, k, p = 20, 3, 5
    whole = [np.arange(p), np.zeros(p + 1), np.zeros((p + 1, p + 1)), 10, 1.0, np.ones(p), np.array([2]), k - 1]
    whole += [np.ones(d), np.zeros(d), np.ones(d), np.zeros((4, k, d))]
    kernels.compiled.recall(*whole)
    whole[argument] = k if argument == 7 else whole[argument][..., :-1].copy()
    with pytest.raises(ValueError, match=r"is needed|there are only"):
        kernels.compiled.recall(*whole)


@needs_kernels
def test_an_attribute_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="there are only 20"):
        kernels.compiled.tails(np.array([3, 20]), np.zeros((9, 20)), np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="there are only 20"):
        kernels.compiled.tails(np.array([-1]), np.zeros((9, 20)), np.zeros(1), np.zeros(1))
