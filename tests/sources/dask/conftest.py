"""A real Dask cluster: four worker processes of one thread each, and a table that they read."""

import logging
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyhole as kh

N_WORKERS = 4

# New processes get the path of this one, so that workers find deadly.py, too.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="package")
def cluster():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(
        n_workers=N_WORKERS,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as running:
        yield running


@pytest.fixture
def client(cluster):
    """A client of the cluster, once all workers are there; a test may have killed one."""
    from distributed import Client  # noqa: PLC0415

    with Client(cluster, set_as_default=False) as connected:
        connected.wait_for_workers(N_WORKERS, timeout=60)
        yield connected


@pytest.fixture(scope="package")
def lake(tmp_path_factory):
    """Two files of 40 columns, of which 3 matter, in 20 row groups."""
    folder = tmp_path_factory.mktemp("lake")
    X, y = kh.SyntheticSource.sparse(40, 3, seed=1).examples(8_000)
    for part in range(2):
        write(folder / f"{part}.parquet", X[part::2], y[part::2], rows=400)
    return folder


def write(path, X, y, *, rows):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=rows, use_dictionary=False, compression="none")


@pytest.fixture(name="write", scope="session")
def _write():
    return write


@pytest.fixture(scope="session")
def random_table():
    def make(n, d, seed=0):
        rng = np.random.default_rng(seed)
        return rng.normal(size=(n, d)), rng.normal(size=n)

    return make
