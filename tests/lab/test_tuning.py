import dataclasses

import numpy as np
import pytest

import keyhole as kh
from keyhole.lab import Contestant, DesignData, Experiment, tune
from keyhole.lab.tuning import best, settings_of


@dataclasses.dataclass(frozen=True)
class Shrunk:
    """Looks at the first attributes of every example and predicts a fixed multiple of the truth."""

    n_observed: int
    n_nonzero_coefs: int
    factor: float = 0.5

    @classmethod
    def grid(cls, *, n_attributes, n_observed, n_nonzero_coefs):
        return {"factor": [0.0, 0.5, 1.0, 3.0]}

    def run(self, n_attributes, rng):
        if self.factor == 3.0:
            raise kh.Misuse("factor must not be 3; choose another.")
        yield kh.Round([kh.Query(np.arange(self.n_observed), 10, how_many)])
        return kh.Predictor(np.arange(2), np.full(2, self.factor), n_attributes=n_attributes)


def how_many(block):
    return block.targets.size


def experiment(*contestants, **changes):
    design = kh.SyntheticSource([1.0, 1.0, *[0.0] * 8], noise=0.1)
    settings = {"n_observed": 4, "n_nonzero_coefs": 2, "n_trials": 4, "repeats": 2}
    return Experiment(
        "test", contestants or (Contestant("shrunk", Shrunk),), DesignData(design, 200), **settings | changes
    )


def tuned(e, label="shrunk"):
    split = e.data.split(e.seed_for("split", 0), e.test_share)
    return tune(e.contestant(label), split, experiment=e)


def test_the_first_trial_is_the_default_setting():
    for repeat in range(5):
        assert settings_of(Contestant("shrunk", Shrunk), experiment(), repeat)[0] == {"factor": 0.5}


def test_no_setting_is_tried_twice():
    e = experiment(Contestant("Hybrid", kh.Hybrid), n_trials=60)
    settings = [repr(sorted(s.items())) for s in settings_of(e.contestants[0], e, 0)]

    assert len(settings) == len(set(settings)) == 60


def test_a_small_grid_is_tried_completely():
    settings = settings_of(Contestant("shrunk", Shrunk), experiment(n_trials=20), 0)

    assert sorted(setting["factor"] for setting in settings) == [0.0, 0.5, 1.0, 3.0]


def test_a_learner_with_nothing_to_tune_has_one_trial():
    assert settings_of(Contestant("Pursuit", kh.Pursuit), experiment(), 0) == [{}]


def test_what_is_fixed_is_not_tuned():
    hybrid = Contestant("Hybrid", kh.Hybrid, fixed={"step_size": 0.1})

    assert all("step_size" not in setting for setting in settings_of(hybrid, experiment(), 0))


def test_the_settings_of_a_contestant_do_not_depend_on_who_else_competes():
    hybrid, exploration = Contestant("Hybrid", kh.Hybrid), Contestant("Exploration", kh.Exploration)

    alone = settings_of(hybrid, experiment(hybrid), 1)
    together = settings_of(hybrid, experiment(exploration, hybrid), 1)

    assert alone == together
    assert alone != settings_of(hybrid, experiment(hybrid), 0)


def test_the_setting_with_the_least_validation_error_is_chosen():
    result = tuned(experiment())

    assert result.setting == {"factor": 1.0}
    assert min(result.trials, key=lambda trial: trial.mse).parameters == {"factor": 1.0}


def test_a_setting_that_does_not_work_counts_as_a_trial_with_infinite_error_and_says_why():
    [failed] = [trial for trial in tuned(experiment()).trials if trial.failed]

    assert failed.mse == np.inf
    assert failed.failed == "factor must not be 3; choose another."


def test_every_trial_is_judged_on_the_same_part_of_the_training_examples_and_never_on_the_test_part():
    e = experiment()
    split = e.data.split(e.seed_for("split", 0), e.test_share)
    spoiled = dataclasses.replace(split, test=dataclasses.replace(split.test, y=split.test.y * np.nan))
    fold = split.fold(e.validation_share)

    assert tune(e.contestants[0], spoiled, experiment=e).setting == {"factor": 1.0}
    assert (fold.train.n, fold.test.n) == (162, 18)
    np.testing.assert_array_equal(np.concatenate([fold.train.y, fold.test.y]), split.train.y)


def test_what_the_trials_looked_at_is_counted():
    result = tuned(experiment())

    assert [trial.values for trial in result.trials if not trial.failed] == [40, 40, 40]
    assert result.values == 120


def test_a_learner_of_complete_examples_gets_no_more_values_than_the_others():
    rows = Contestant("rows", kh.RowsThenColumns, fixed={"n_observed": 10})
    e = experiment(rows)

    result = tuned(e, "rows")

    assert all(0 < trial.values <= 4 * 162 for trial in result.trials if not trial.failed)


def test_of_equal_trials_the_first_is_best():
    assert best({3: 1.0, 1: 1.0, 2: 4.0}) == 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Contestant("x", kh.Hybrid(n_observed=4, n_nonzero_coefs=2)), "is a class such as Hybrid"),
        (lambda: Contestant("x", kh.Hybrid, fixed={"stepsize": 1}), "'stepsize' is none of them"),
        (lambda: experiment(test_share=1.0), "test_share must lie strictly between 0 and 1"),
        (lambda: experiment(repeats=0), "repeats must be a whole number of at least 1"),
        (lambda: experiment(Contestant("x", kh.Hybrid), Contestant("x", kh.Pursuit)), "two are called 'x'"),
    ],
)
def test_an_impossible_experiment_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()


def test_checkpoints_end_with_the_last_example_and_ascend():
    e = experiment(checkpoints=40)

    numbers = e.checkpoints_for(9000)

    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (9, 9000)
    assert experiment(checkpoints=[10, 50, 500]).checkpoints_for(100) == [10, 50, 100]
