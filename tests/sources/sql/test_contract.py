"""Every database and both layouts keep the promises of a source."""

import numpy as np
import pytest

from keyhole.sources.sql import SQLSource
from keyhole.testing import SourceContract


def cells():
    rng = np.random.default_rng(5)
    return rng.normal(size=(23, 4)), rng.normal(size=23)


@pytest.fixture(scope="class")
def written(shared_database, fill, fill_tall):
    """The same cells in both layouts; no test writes."""
    fill(shared_database, *cells())
    fill_tall(shared_database, *cells())
    return shared_database


class Promises(SourceContract):
    @pytest.fixture(autouse=True)
    def know(self, written):
        self.url = written.url

    def cells(self):
        return cells()


class TestTable(Promises):
    def make(self):
        return SQLSource(self.url, table="t", target="y")


class TestQuery(Promises):
    def make(self):
        query = "SELECT c0, c1, y, c2, c3, -id AS place FROM t -- with a comment"
        return SQLSource(self.url, query=query, target="y", key="place")

    def cells(self):
        X, y = cells()
        return X[::-1], y[::-1]


class TestTall(Promises):
    def make(self):
        return SQLSource.tall(self.url, values="cells", targets="labels")
