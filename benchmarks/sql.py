"""What asking for 40 of 800 columns saves in SQLite, DuckDB and PostgreSQL, and which way of reading is quickest.

    python benchmarks/sql.py [--save benchmarks/results/sql.json]

Needs PostgreSQL's programs (a server of its own is started for the time), the packages adbc-driver-sqlite,
adbc-driver-postgresql, pyarrow and sqlalchemy for the ways that were not chosen, and Linux, which counts what a
process reads. All times are ratios measured in turn, in one run; the median of the repeats counts.
"""

import argparse
import json
import runpy
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import sqlalchemy

import keyhole as kh
from keyhole.query import Block
from keyhole.sources.sql import SQLSource
from keyhole.statistics import Moments

N, D, ASKED = 20_000, 800, 40
N_TALL = 5_000
NAMES = [f"c{j}" for j in range(D)]
SERVER = Path(__file__).parents[1] / "tests" / "sources" / "sql" / "conftest.py"


@contextmanager
def databases() -> Iterator[tuple[dict[str, str], Any]]:
    """The same examples in three databases, wide and (the first few) tall, by their urls; and the server."""
    rng = np.random.default_rng(0)
    table = pa.table({"id": np.arange(N), "y": rng.normal(size=N), **{name: rng.normal(size=N) for name in NAMES}})
    cells = np.column_stack([table[name].to_numpy()[:N_TALL] for name in NAMES])
    tall = pa.table({
        "feature": np.repeat(NAMES, N_TALL), "id": np.tile(np.arange(N_TALL), D), "value": cells.T.ravel(),
    })  # fmt: skip
    ours = runpy.run_path(str(SERVER))  # the server of the tests
    server = ours["Server"](ours["programs_of_postgresql"]())
    with tempfile.TemporaryDirectory() as folder:
        urls = {
            "SQLite": f"sqlite:///{folder}/wide.db",
            "DuckDB": f"duckdb:///{folder}/wide.duckdb",
            "PostgreSQL": server.url(),
        }
        try:
            fill_sqlite(f"{folder}/wide.db", table, tall)
            fill_duckdb(f"{folder}/wide.duckdb", table, tall)
            fill_postgresql(server.url(), table, tall)
            yield urls, server
        finally:
            server.remove()


def statements(real: str, text: str) -> list[str]:
    columns = ", ".join(f"{name} {real}" for name in ["y", *NAMES])
    return [
        f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns})",
        f"CREATE TABLE tall (feature {text}, id INTEGER, value {real}, PRIMARY KEY (feature, id))",
        f"CREATE TABLE targets (id INTEGER PRIMARY KEY, y {real})",
    ]


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=1_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def tables_of(wide: pa.Table, tall: pa.Table) -> dict[str, pa.Table]:
    return {"wide": wide, "tall": tall, "targets": wide.select(["id", "y"]).slice(0, N_TALL)}


def fill_sqlite(path: str, wide: pa.Table, tall: pa.Table) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements("REAL", "TEXT"):
            # A table WITHOUT ROWID is kept in the order of its primary key: the values of a feature lie together.
            connection.execute(statement + (" WITHOUT ROWID" if "tall" in statement else ""))
        for name, table in tables_of(wide, tall).items():
            marks = ", ".join("?" * table.num_columns)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows_of(table))  # noqa: S608


def fill_duckdb(path: str, wide: pa.Table, tall: pa.Table) -> None:
    with duckdb.connect(path) as connection:
        for name, table in tables_of(wide, tall).items():
            connection.register("arrow", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")  # noqa: S608


def fill_postgresql(url: str, wide: pa.Table, tall: pa.Table) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements("float8", "text"):
            connection.execute(statement)
        for name, table in tables_of(wide, tall).items():
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows_of(table):
                    copy.write_row(row)
        connection.execute("CLUSTER tall USING tall_pkey")
        connection.execute("VACUUM ANALYZE")


def spread(asked: int) -> list[str]:
    """Columns from all over the row: the first ones are the cheapest to find, and nobody asks for just those."""
    return [NAMES[j] for j in np.linspace(0, D - 1, asked).astype(int)]


def glance(block: Block) -> float:
    """The cheapest statistic, so that reading is what is timed."""
    return float(block.targets[0])


def read_all(source: SQLSource, asked: int, size: int, statistic: Callable[[Block], Any] = glance) -> None:
    attributes = np.flatnonzero(np.isin(NAMES, spread(asked)))
    while source.remaining():
        source.answer(kh.Query(attributes, size, statistic))


def wide_source(url: str) -> SQLSource:
    return SQLSource(url, table="wide", target="y", key="id")


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratios(actions: dict[str, Callable[[], Any]], to: str, repeats: int) -> dict[str, float]:
    """How much longer each takes than ``to``; they are timed in turn, so that a busy machine is busy for all."""
    times = [{name: seconds(action) for name, action in actions.items()} for _ in range(repeats)]
    return {name: round(float(np.median([t[name] / t[to] for t in times])), 2) for name in actions}


def bytes_read(url: str, server: Any, action: Callable[[], Any]) -> int:
    """What a database reads: of its file as the kernel counts it, of its blocks as a fresh server counts them."""
    if not url.startswith("postgresql"):
        before = _read_by_this_process()
        action()
        return _read_by_this_process() - before
    blocks = (
        "SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot(), sum(heap_blks_read + idx_blks_read)"
        " FROM pg_statio_user_tables"
    )
    server.stop()  # what it still has in its buffers it would not read again
    server.start()
    with psycopg.connect(url, autocommit=True) as connection:
        before = connection.execute(blocks).fetchone()[2]
        action()
        return 8192 * int(_settled(connection, blocks) - before)


def _settled(connection: psycopg.Connection[Any], counting: str) -> int:
    """A session reports when it ends, a moment after we do: ask until the answer stays the same."""
    seen = [-1, -2]
    while seen[-1] != seen[-2] or seen[-1] < 0:
        time.sleep(0.5)
        seen.append(connection.execute(counting).fetchone()[2])
    return seen[-1]


def _read_by_this_process() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def columns_asked(urls: dict[str, str], server: Any, repeats: int) -> list[dict[str, Any]]:
    """40 of 800 columns beside all 800, and beside 40 features of the tall layout."""
    rows = []
    for kind, url in urls.items():

        def wide(asked: int, url: str = url, rest: str = "") -> None:
            query = f"SELECT * FROM wide{rest}"  # noqa: S608
            read_all(SQLSource(url, query=query, target="y", key="id") if rest else wide_source(url), asked, 500)

        def tall(url: str = url) -> None:
            read_all(SQLSource.tall(url, values="tall", targets="targets", features=NAMES), ASKED, 500)

        few, all_ = (lambda: wide(ASKED)), (lambda: wide(D))
        some = lambda: wide(ASKED, rest=f" WHERE id < {N_TALL}")  # noqa: E731
        times = ratios({"40": few, "800": all_}, "800", repeats)
        tall_times = ratios({"wide": some, "tall": tall}, "wide", repeats)
        read = {name: bytes_read(url, server, action) for name, action in (("40", few), ("800", all_))}
        tall_read = {name: bytes_read(url, server, action) for name, action in (("wide", some), ("tall", tall))}
        rows.append({
            "database": kind,
            "time of 40 columns beside 800": times["40"],
            "bytes from storage for 40 columns beside 800": round(read["40"] / read["800"], 3),
            "time of tall beside wide, 40 features": tall_times["tall"],
            "bytes from storage for tall beside wide": round(tall_read["tall"] / tall_read["wide"], 3),
        })  # fmt: skip
        print(rows[-1])
    return rows


def ways_of_reading(urls: dict[str, str], repeats: int) -> list[dict[str, Any]]:
    """Our reader beside ADBC with Arrow, and beside rows through SQLAlchemy."""
    rows = []
    for kind in ("SQLite", "PostgreSQL"):
        for size in (500, 4_096):
            opened = iter([wide_source(urls[kind]) for _ in range(repeats)])  # the others count no examples, either
            ways = {
                "ours": lambda opened=opened, size=size: read_all(next(opened), ASKED, size),
                "ADBC": lambda kind=kind, size=size: through_adbc(kind, urls[kind], size),
                "SQLAlchemy": lambda kind=kind, size=size: through_sqlalchemy(kind, urls[kind], size),
            }
            rows.append({"database": kind, "examples a query": size, **ratios(ways, "ours", repeats)})
            print(rows[-1])
    return rows


def page(size: int, mark: str) -> str:
    return f"SELECT id, y, {', '.join(spread(ASKED))} FROM wide WHERE id > {mark} ORDER BY id LIMIT {size}"  # noqa: S608


def through_adbc(kind: str, url: str, size: int) -> None:
    path = url.removeprefix("sqlite:///")
    connect = adbc_driver_sqlite.dbapi.connect if kind == "SQLite" else adbc_driver_postgresql.dbapi.connect
    with connect(f"file:{path}?mode=ro" if kind == "SQLite" else url) as connection:
        last = -1
        while last < N - 1:
            with connection.cursor() as cursor:
                cursor.execute(page(size, "?1" if kind == "SQLite" else "$1"), (last,))
                table = cursor.fetch_arrow_table()
            np.column_stack([column.to_numpy() for column in table.columns[1:]])
            last = table["id"][-1].as_py()


def through_sqlalchemy(kind: str, url: str, size: int) -> None:
    engine = sqlalchemy.create_engine(url if kind == "SQLite" else url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        last = -1
        while last < N - 1:
            rows = connection.execute(sqlalchemy.text(page(size, ":last")), {"last": last}).fetchall()
            np.array(rows, dtype=float)
            last = rows[-1][0]
    engine.dispose()


def push_down(urls: dict[str, str], repeats: int) -> list[dict[str, Any]]:
    """Moments as sums in the database beside fetching the values."""
    rows = []
    for kind in ("DuckDB", "PostgreSQL"):
        for asked in (3, 10, 40):
            for size in (500, 4_096):
                opened = iter([wide_source(urls[kind]) for _ in range(repeats)])
                ways = {
                    "fetch": lambda: read_all(next(opened), asked, size, Moments()),  # noqa: B023
                    "push down": lambda: sums_inside(kind, urls[kind], asked, size),  # noqa: B023
                }
                got = ratios(ways, "fetch", repeats)
                rows.append({"database": kind, "attributes": asked, "examples a query": size, **got})
                print(rows[-1])
    return rows


def sums_inside(kind: str, url: str, asked: int, size: int) -> None:
    """Sums and sums of products, not even centred: the least that `Moments` could be."""
    names = [*spread(asked), "y"]
    sums = [f"SUM({a} * {b})" for i, a in enumerate(names) for b in names[: i + 1]] + [f"SUM({a})" for a in names]
    inner = f"SELECT id, {', '.join(names)} FROM wide WHERE id > $1 ORDER BY id LIMIT {size}"  # noqa: S608
    statement = f"SELECT MAX(id), COUNT(*), {', '.join(sums)} FROM ({inner}) AS page"  # noqa: S608
    if kind == "DuckDB":
        connection: Any = duckdb.connect(url.removeprefix("duckdb:///"), read_only=True)
    else:
        connection = psycopg.connect(url, cursor_factory=psycopg.RawCursor)
    with connection:
        last = -1
        while last < N - 1:
            last = connection.execute(statement, [last]).fetchone()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "sql.json")
    settings = parser.parse_args()
    with databases() as (urls, server):
        results = {
            "command": f"python benchmarks/sql.py --repeats {settings.repeats}",
            "version": kh.__version__,
            "rows": N,
            "columns": D,
            "columns asked": columns_asked(urls, server, settings.repeats),
            "time beside ours": ways_of_reading(urls, settings.repeats),
            "time beside fetching": push_down(urls, settings.repeats),
        }
    settings.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
