"""The front door: public names, lazy imports, bad parameters."""

import subprocess
import sys

import numpy as np
import pytest

import keyhole
import keyhole as kh


def loaded_after(code):
    """Which modules a fresh python has loaded after running `code`."""
    listing = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_keyhole_pulls_in_no_optional_package():
    optional = {"sklearn", "pandas", "polars", "pyarrow", "narwhals", "matplotlib", "rich", "click"}

    assert not loaded_after("import keyhole") & optional
    assert not loaded_after("import keyhole as kh; kh.Hybrid, kh.learn, kh.ArraySource, kh.SyntheticSource") & optional


def test_every_public_name_is_there():
    assert sorted(keyhole.__all__) == dir(keyhole)
    assert set(keyhole.__all__) == {*keyhole._ROOM_OF, "__version__"}
    for name in keyhole.__all__:
        assert getattr(keyhole, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Hybird'"):
        _ = kh.Hybird


def begun(learner, n_attributes):
    return next(learner.run(n_attributes, np.random.default_rng(0)))


START = kh.Predictor([0], [1.0], n_attributes=20)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: begun(kh.Hybrid(5, 5), 20),
            "n_observed must be larger than n_nonzero_coefs, not 5 against 5",
        ),
        (lambda: kh.Hybrid(4, 5), "n_observed must be larger than n_nonzero_coefs, not 4 against 5"),
        (lambda: begun(kh.Exploration(21, 5), 20), "at most the number of attributes, 20, not 21"),
        (lambda: kh.Exploration(0, 0), "n_observed must be a whole number of at least 1, not 0"),
        (lambda: kh.Exploration(5, 2.5), "n_nonzero_coefs must be a whole number of at least 1, not 2.5"),
        (lambda: kh.Exploration(True, 1), "n_observed must be a whole number"),
        (lambda: kh.Exploration(5, 2, step_size=0.0), "step_size must be a positive number, not 0.0"),
        (lambda: kh.Exploration(5, 2, step_size=[0.1, -0.1]), "step_size must be a positive number, not -0.1"),
        (lambda: kh.Exploration(5, 2, step_size=np.nan), "step_size must be a positive number, not nan"),
        (lambda: kh.Exploration(5, 2, step_size="fast"), "step_size must be a positive number, a schedule or"),
        (lambda: kh.Exploration(5, 2, batch_size=0), "batch_size must be a number of at least 1, not 0"),
        (lambda: kh.Exploration(5, 2, batch_size=[]), "batch_size must have at least one entry"),
        (lambda: kh.Exploration(5, 2, batch_size="big"), "batch_size must be a number, a schedule or"),
        (lambda: kh.Exploration(5, 2, n_updates=-1), "n_updates must be a whole number of at least 0, not -1"),
        (lambda: kh.Exploration(5, 2, scale="robust"), "scale must be None .raw values, as in the paper. or"),
        (lambda: kh.Hybrid(5, 2, exploration_updates=0), "exploration_updates must be a whole number of at least 1"),
        (lambda: kh.Hybrid(5, 2, exploitation_batch_size=-5), "exploitation_batch_size must be a number of at least 1"),
        (lambda: kh.Hybrid(5, 2, n_rounds=1.5), "n_rounds must be a whole number of at least 0, not 1.5"),
        (
            lambda: begun(kh.Hybrid(5, 2, start=START), 19),
            "start must be a predictor for examples with 19",
        ),
        (lambda: kh.Exploitation(kh.Predictor([], [], n_attributes=3)), "start must be a Predictor with at least one"),
        (lambda: kh.Exploitation(None), "start must be a Predictor with at least one attribute, not None"),
        (lambda: kh.SyntheticSource([]), "coef must be a list of finite numbers"),
        (lambda: kh.SyntheticSource([1.0], correlation=1.0), "correlation must lie strictly between -1 and 1"),
        (lambda: kh.SyntheticSource([1.0], noise=-1.0), "noise must be a positive number"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence) as caught:
        make()

    assert "\n" not in str(caught.value)


def test_a_callable_schedule_is_held_to_the_rules_when_it_is_called():
    learner = kh.Exploration(5, 2, batch_size=lambda t: 10 - 10 * t)

    with pytest.raises(kh.Misuse, match="batch_size must be a number of at least 1, not 0") as caught:
        kh.learn(learner, kh.SyntheticSource.sparse(10, 2))

    assert len(caught.value.result.trace) == 0
    assert caught.value.result.bill.examples == 40
