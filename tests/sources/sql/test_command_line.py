"""The command line on each kind of database, a real server among them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import keyhole as kh
from keyhole.cli.app import keyhole
from keyhole.modelfile import read_model


@pytest.fixture
def plant(database):
    """y = 2 s1 - s3 + noise in a table with a key, and names that must be quoted."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(900, 8))
    y = 2 * S[:, 1] - S[:, 3] + 0.1 * rng.normal(size=900)
    columns = ", ".join(f'"s {j}" {database.real}' for j in range(8))
    database.run(f'CREATE TABLE "line; 1" (id INTEGER PRIMARY KEY, {columns}, y {database.real})')
    mark = "%s" if database.kind == "PostgreSQL" else "?"
    rows = [(i, *values, target) for i, (values, target) in enumerate(zip(S.tolist(), y.tolist(), strict=True))]
    database.run(f'INSERT INTO "line; 1" VALUES ({", ".join([mark] * 10)})', rows)  # noqa: S608
    return database.url


def keyhole_with(*arguments):
    outcome = CliRunner().invoke(keyhole, [str(argument) for argument in arguments], prog_name="keyhole")
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def test_a_database_is_learned_from_and_predicted_for_at_the_command_line(plant, tmp_path):
    where = [plant, "--table", "line; 1"]
    model, predictions = tmp_path / "model.json", tmp_path / "predictions.csv"

    keyhole_with("fit", *where, "--target", "y", "--learner", "pursuit", "--observe", 4, "--nonzero", 2, "-o", model)
    said = json.loads(keyhole_with("predict", model, *where, "-o", predictions, "--json"))

    source = kh.SQLSource(plant, table="line; 1", target="y")
    expected = kh.learn(kh.Pursuit(n_observed=4, n_nonzero_coefs=2), source, progress=False).predictor
    found = read_model(model).predictor
    assert found.names == expected.names == ("s 1", "s 3")
    assert found.coef.tobytes() == expected.coef.tobytes()
    assert said["examples"] == 900
    assert len(predictions.read_text().splitlines()) == 901
