"""Every source keeps the promises of `keyhole.testing.SourceContract`."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import keyhole as kh
from keyhole.testing import Collected, SourceContract


def cells():
    rng = np.random.default_rng(3)
    return np.round(rng.normal(size=(23, 4)), 3), rng.normal(size=23)


COLUMNS = ["age", "height", "a;b", 'c"d']


class InMemory(SourceContract):
    def cells(self):
        return cells()


class TestArrayInCOrder(InMemory):
    def make(self):
        return kh.ArraySource(*cells())


class TestArrayInFortranOrder(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(np.asfortranarray(X), y)


class TestStridedArray(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3], y)


class TestMemoryMappedArray(InMemory):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.path = tmp_path / "X.npy"
        np.save(self.path, cells()[0])

    def make(self):
        return kh.ArraySource(np.load(self.path, mmap_mode="r"), cells()[1])


class TestFloat32Array(SourceContract):
    def cells(self):
        X, y = cells()
        return X.astype(np.float32).astype(float), y

    def make(self):
        X, y = cells()
        return kh.ArraySource(X.astype(np.float32), y)


class TestInt8Array(SourceContract):
    def cells(self):
        X, y = cells()
        return (X * 10).astype(np.int8).astype(float), np.round(y)

    def make(self):
        X, y = cells()
        return kh.ArraySource((X * 10).astype(np.int8), np.round(y).astype(int))


class TestBooleanArray(SourceContract):
    def cells(self):
        X, y = cells()
        return (X > 0).astype(float), y

    def make(self):
        X, y = cells()
        return kh.ArraySource(X > 0, y)


class TestListOfLists(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(X.tolist(), y.tolist())


class TestSparseRows(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(sp.csr_array(X), y)


class TestSparseColumns(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(sp.csc_matrix(X), y)


class TestPandas(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(pd.DataFrame(X, columns=COLUMNS), pd.Series(y, name="y"))


class TestPandasWithNumberedColumnsAndAnOddIndex(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(pd.DataFrame(X, index=np.arange(23)[::-1]), y)


class TestPolars(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(pl.DataFrame(X, schema=COLUMNS), pl.Series("y", y))


class TestArrow(InMemory):
    def make(self):
        X, y = cells()
        return kh.ArraySource(pa.table(dict(zip(COLUMNS, X.T, strict=True))), y)


class TestFrameThatHoldsItsTarget(InMemory):
    def make(self):
        X, y = cells()
        frame = pd.DataFrame(X, columns=COLUMNS)
        frame.insert(2, "y", y)
        return kh.ArraySource(frame, "y")


class TestShuffled(SourceContract):
    order = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(0,))).permutation(23)

    def cells(self):
        X, y = cells()
        return X[self.order], y[self.order]

    def make(self):
        return kh.ArraySource(*cells(), shuffle=True, seed=7)


class TestShuffledFrame(TestShuffled):
    def make(self):
        X, y = cells()
        return kh.ArraySource(pl.DataFrame(X, schema=COLUMNS), y, shuffle=True, seed=7)


class TestShuffledSparse(TestShuffled):
    def make(self):
        X, y = cells()
        return kh.ArraySource(sp.csr_array(X), y, shuffle=True, seed=7)


class TestTwoPasses(SourceContract):
    def cells(self):
        X, y = cells()
        return np.vstack([X, X]), np.concatenate([y, y])

    def make(self):
        return kh.ArraySource(*cells(), passes=2)


class TestSynthetic(SourceContract):
    """Complete examples are had by asking another source of the same seed for all attributes."""

    def make(self):
        return kh.SyntheticSource.sparse(6, 2, seed=4, correlation=0.5, scale=[1, 10, 100, 1, 1, 1], intercept=3)

    def cells(self):
        shown = self.make().answer(kh.Query(np.arange(6), 700, Collected())).value
        return np.array(shown.values), shown.targets
