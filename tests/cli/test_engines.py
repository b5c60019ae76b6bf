"""Other processes and clusters, from the command line: the same model to the last bit, whoever does the work."""

import multiprocessing
import sys

import pyarrow.parquet as pq
import pytest

import keyhole as kh
from keyhole.cli.engines import DaskCluster

MISUSE, SOURCE, EXTRA = 3, 6, 7
ORDER = ["fit", "lake", "--target", "price", "--nonzero", 2, "--observe", 6, "--max-examples", 400]


@pytest.fixture
def lake(tmp_path, table):
    (tmp_path / "lake").mkdir()
    pq.write_table(table, tmp_path / "lake" / "part.parquet", row_group_size=100)
    return tmp_path


@pytest.mark.parametrize("words", [["--engine", "processes"], ["--engine", "dask"]])
def test_an_engine_changes_nothing_about_the_model(lake, process, run, words):
    if words[-1] == "dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    assert run(*ORDER, "-o", "alone.json", "--quiet").code == 0

    outcome = process(*ORDER, *words, "--workers", 2, "-o", "shared.json")

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (lake / "shared.json").read_bytes() == (lake / "alone.json").read_bytes()


def test_a_dry_run_starts_no_engine(lake, run, monkeypatch):
    monkeypatch.setattr("keyhole.cli.engines.ProcessPoolExecutor", None)

    assert run(*ORDER, "--engine", "processes", "--dry-run").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", 2], "--workers says how many workers an engine has; add --engine processes or --engine dask."),
        (["--engine", "processes", "--workers", 0], "--workers must be a whole number of at least 1, not 0"),
        (["--scheduler", "tcp://h:1"], "--scheduler is where a Dask cluster is found, so it needs --engine dask"),
        (["--engine", "processes", "--scheduler", "tcp://h:1"], "so it needs --engine dask"),
        (["--engine", "dask", "--scheduler", "tcp://h:1", "--workers", 2], "leave out --workers."),
        (["--engine", "processes", "--shuffle"], "but here everything is read into memory"),
        (["--engine", "processes", "--passes", 2], "use neither --shuffle nor --passes."),
    ],
)
def test_options_that_do_not_go_together_are_refused(lake, told, words, sentence):
    code, said = told(*ORDER, *words)

    assert code == MISUSE
    assert sentence in said


def test_an_engine_is_for_parquet(houses, told):
    assert "--engine is for Parquet" in told("fit", "houses.csv", "--target", "price", "--engine", "processes")[1]


def test_without_dask_one_sentence_says_how_to_get_it(lake, told, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    for words in ([], ["--scheduler", "tcp://h:1"]):
        code, said = told(*ORDER, "--engine", "dask", *words)

        assert code == EXTRA
        assert said == "this needs the package distributed; run pip install 'keyhole[dask]'"


class TestDask:
    """A scheduler that cannot be used."""

    @pytest.fixture(autouse=True)
    def _needs_dask(self):
        pytest.importorskip("distributed", reason="Dask is not installed")

    @pytest.mark.parametrize("address", ["nowhere", "odd://host:1"])
    def test_an_address_that_is_none_is_refused(self, lake, told, address):
        code, said = told(*ORDER, "--engine", "dask", "--scheduler", address)

        assert code == MISUSE
        assert "--scheduler must be an address such as tcp://host:8786, but " in said

    def test_a_scheduler_that_does_not_answer_is_told_of(self, lake, told, monkeypatch):
        monkeypatch.setattr("keyhole.cli.engines.PATIENCE", "100ms")

        code, said = told(*ORDER, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1")

        assert code == SOURCE
        assert said.startswith("the Dask scheduler must answer, but tcp://127.0.0.1:1 did not within 100ms;")

    def test_a_cluster_without_workers_is_told_of_and_one_with_workers_is_used(self, lake, run, told):
        from distributed import LocalCluster  # noqa: PLC0415

        with LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
            words = ["--engine", "dask", "--scheduler", cluster.scheduler_address]
            code, said = told(*ORDER, *words)
            assert code == SOURCE
            assert "has none; start some with dask worker tcp://" in said

            cluster.scale(1)
            cluster.sync(cluster._correct_state)
            assert run(*ORDER, *words, "-o", "shared.json", "--quiet").code == 0
        assert run(*ORDER, "-o", "alone.json", "--quiet").code == 0
        assert (lake / "shared.json").read_bytes() == (lake / "alone.json").read_bytes()


def test_workers_with_another_version_are_refused():
    cluster = DaskCluster("tcp://host:8786")

    for there, came in [("0.0.0", "has 0.0.0"), (ModuleNotFoundError("keyhole"), "has none")]:
        with pytest.raises(kh.SourceFailed, match=f"the one at tcp://worker:1 {came}; install it there"):
            cluster._refuse_other_versions({"tcp://worker:1": there})


def test_no_process_is_left_behind(lake, run):
    before = set(multiprocessing.active_children())

    run(*ORDER, "--engine", "processes", "--workers", 1, "--quiet")

    assert set(multiprocessing.active_children()) == before
