"""ParquetSource keeps the promises of `keyhole.testing.SourceContract`, in every order and with workers."""

from typing import ClassVar

import numpy as np
import pytest

from keyhole.sources.parquet import ParquetSource
from keyhole.testing import SourceContract


class InFolder(SourceContract):
    settings: ClassVar = {}

    @pytest.fixture(autouse=True)
    def _folder(self, folder):
        self.path, self.X, self.y = folder

    def cells(self):
        return self.X, self.y

    def make(self):
        return ParquetSource(self.path, target="y", order="file", **self.settings)


class TestFileOrder(InFolder):
    pass


class TestWithoutCache(InFolder):
    settings: ClassVar = {"cache_bytes": 0}


class TestSkippingNulls(InFolder):
    settings: ClassVar = {"skip_nulls": True}


class TestAffinityWithOneRowGroup(SourceContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path, cells, write):
        self.path = tmp_path / "table.parquet"
        self.X, self.y = cells(30)
        write(self.path, self.X, self.y)

    def cells(self):
        return self.X, self.y

    def make(self):
        return ParquetSource(self.path, target="y")


class TestProcessPool(InFolder):
    @pytest.fixture(autouse=True)
    def _pool(self, pool):
        self.settings = {"executor": pool}


class TestFloat32(SourceContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path, cells, write):
        self.path = tmp_path / "table.parquet"
        X, self.y = cells(30)
        self.X = X.astype(np.float32).astype(float)
        write(self.path, X.astype(np.float32), self.y, rows=4)

    def cells(self):
        return self.X, self.y

    def make(self):
        return ParquetSource(self.path, target="y", order="file")
