"""A small table in all three formats, and two ways to run the command: in this process, and for real."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from keyhole.cli.app import keyhole

N_EXAMPLES, N_ATTRIBUTES = 1200, 12
NAMES = ("rooms", "area", *(f"x{j}" for j in range(2, N_ATTRIBUTES)))


def make_examples(seed=0):
    """price = 5 + 3 rooms - 2 x7 + noise, in units that differ by powers of ten."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-2, 3, N_ATTRIBUTES)
    Z = rng.normal(size=(N_EXAMPLES, N_ATTRIBUTES))
    y = 5 + 3 * Z[:, 0] - 2 * Z[:, 7] + 0.1 * rng.normal(size=N_EXAMPLES)
    return Z * units, y


@pytest.fixture(scope="session")
def table():
    X, y = make_examples()
    return pa.table({**dict(zip(NAMES, X.T, strict=True)), "price": y})


@pytest.fixture
def houses(tmp_path, table):
    """The same examples as houses.csv, houses.parquet, houses.npz (with names) and plain.npz (without)."""
    pyarrow.csv.write_csv(table, tmp_path / "houses.csv")
    pyarrow.parquet.write_table(table, tmp_path / "houses.parquet")
    X, y = make_examples()
    np.savez(tmp_path / "houses.npz", X=X, y=y, price=y, feature_names=NAMES)
    np.savez(tmp_path / "plain.npz", X=X, y=y)
    return tmp_path


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``keyhole`` in this process, in the test's own folder; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def go(*args):
        outcome = CliRunner().invoke(keyhole, [str(arg) for arg in args], prog_name="keyhole")
        if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        return SimpleNamespace(code=outcome.exit_code, out=outcome.stdout, err=outcome.stderr)

    return go


@pytest.fixture
def told(run):
    """Run a command that must fail: gives its exit code and its one sentence."""

    def go(*args):
        outcome = run(*args)
        assert outcome.code != 0
        assert outcome.out == ""
        assert outcome.err.startswith("keyhole: ")
        assert outcome.err.count("\n") == 1
        assert "Traceback" not in outcome.err
        return outcome.code, outcome.err.removeprefix("keyhole: ").rstrip("\n")

    return go


@pytest.fixture
def told_json(run):
    """Run a command that must succeed with --json: gives what it printed, as data."""

    def go(*args):
        outcome = run(*args, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        content = json.loads(outcome.out)
        assert content["version"] == 1
        return content

    return go


@pytest.fixture
def process(tmp_path):
    """Start ``keyhole`` as users do, in a process of its own."""

    def go(*args, **options):
        command = [sys.executable, "-m", "keyhole", *map(str, args)]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, **options
        )

    return go
