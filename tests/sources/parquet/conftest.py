"""Tables in Parquet, and ways to look into them."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyhole as kh
from keyhole.testing import Collected

NAMES = ("age", "a.b", "a", 'c"d;', "größe")


def write(path, X, y, *, rows=None, names=None, **options):
    """Examples as a Parquet file, the target in the middle, in row groups of ``rows``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = names or [f"x{j}" for j in range(X.shape[1])]
    columns = dict(zip(names, X.T, strict=True))
    middle = len(names) // 2
    items = list(columns.items())
    table = pa.table(dict([*items[:middle], ("y", y), *items[middle:]]))
    pq.write_table(table, path, row_group_size=rows, **options)


def look(source, n=None, attributes=None):
    """Everything that a query is shown."""
    wanted = np.arange(source.n_attributes) if attributes is None else np.array(attributes, dtype=int)
    return source.answer(kh.Query(wanted, source.remaining() if n is None else n, Collected())).value


def cells(n=23, d=5, seed=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@pytest.fixture(name="write")
def _write():
    return write


@pytest.fixture(name="look")
def _look():
    return look


@pytest.fixture(name="cells")
def _cells():
    return cells


@pytest.fixture
def folder(tmp_path):
    """Three files in nested folders, with uneven row groups; read in the order of their paths."""
    X, y = cells(60)
    write(tmp_path / "a" / "one.parquet", X[:20], y[:20], rows=7, names=NAMES)
    write(tmp_path / "a" / "k=1" / "two.parquet", X[20:21], y[20:21], names=NAMES)
    write(tmp_path / "b" / "three.parquet", X[21:], y[21:], rows=30, names=NAMES)
    (tmp_path / "a" / "_part.parquet").write_text("half written")
    (tmp_path / "a" / ".old").mkdir()
    (tmp_path / "a" / ".old" / "one.parquet").write_text("")
    (tmp_path / "b" / "readme.txt").write_text("not data")
    order = np.r_[20, 0:20, 21:60]  # "a/k=1/..." sorts before "a/one..."
    return tmp_path, X[order], y[order]


@pytest.fixture(scope="package")
def processes():
    """How worker processes are started: from a server without threads that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["keyhole.sources.parquet", "keyhole.statistics", "pyarrow.parquet"])
    return context


@pytest.fixture(scope="package")
def pool(processes):
    """Two worker processes."""
    with ProcessPoolExecutor(2, mp_context=processes) as executor:
        yield executor
