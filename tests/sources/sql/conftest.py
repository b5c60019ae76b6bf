"""Three databases to write to, and the source that reads them; the PostgreSQL server is a real one of our own."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import uuid
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest

from keyhole.sources.sql import SQLSource
from keyhole.sources.sql.database import quoted


class Server:
    """A PostgreSQL server in a folder of its own, reached through a socket in it; no port is opened."""

    def __init__(self, programs):
        self._programs = programs
        # The server refuses to run as root, and nobody else may enter pytest's folders.
        self._user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        self.folder = Path(tempfile.mkdtemp(prefix="keyhole-", dir="/tmp"))
        if self._user:
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "--auth=trust", "--username=keyhole", "--no-sync", "--encoding=UTF8", "--no-locale")
        self.start()

    def url(self, *, user="keyhole", options=""):
        return f"postgresql://{user}@/postgres?host={self.folder}{options}"

    def start(self):
        settings = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off -c max_connections=40"
        self._run("pg_ctl", "--wait", f"--options={settings}", f"--log={self.folder / 'log'}", "start")

    def stop(self):
        self._run("pg_ctl", "--wait", "--mode=immediate", "stop")

    def remove(self):
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def _run(self, program, *arguments):
        command = [self._programs / program, f"--pgdata={self.folder / 'data'}", *arguments]
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder, timeout=60,
            stdin=subprocess.DEVNULL, env={"PATH": os.defpath, "LC_ALL": "C"}, **self._user,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout.decode()


def programs_of_postgresql():
    """Where initdb is, Debian's place or the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="session")
def start_server():
    """Makes servers; all are stopped at the end."""
    programs = programs_of_postgresql()
    if programs is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    if os.geteuid() == 0 and not shutil.which("runuser"):
        pytest.skip("PostgreSQL does not run as root, and there is no other user")
    servers = []

    def start():
        servers.append(Server(programs))
        return servers[-1]

    yield start
    for server in servers:
        server.remove()


@pytest.fixture(scope="session")
def server(start_server):
    return start_server()


class SQLiteFile:
    """A SQLite file to write to."""

    kind, real, text, big = "SQLite", "REAL", "TEXT", "INTEGER"

    def __init__(self, folder):
        self.path = folder / "our data.db"
        self.url = f"sqlite:///{self.path}"

    def run(self, statement, rows=None):
        with closing(sqlite3.connect(self.path)) as connection, connection:
            if rows is None:
                return connection.execute(statement).fetchall()
            return connection.executemany(statement.replace("%s", "?"), rows)


class DuckDBFile:
    """A DuckDB file to write to."""

    kind, real, text, big = "DuckDB", "DOUBLE", "VARCHAR", "BIGINT"

    def __init__(self, folder):
        self.path = folder / "our data.duckdb"
        self.url = f"duckdb:///{self.path}"

    def run(self, statement, rows=None):
        with duckdb.connect(str(self.path)) as connection:
            if rows is None:
                return connection.execute(statement).fetchall()
            connection.begin()  # or else every row is written to disk by itself
            connection.executemany(statement.replace("%s", "?"), rows)
            return connection.commit()


class PostgreSQLSchema:
    """A schema of our own in the server."""

    kind, real, text, big = "PostgreSQL", "float8", "text", "bigint"

    def __init__(self, server):
        self.server = server
        schema = "s" + uuid.uuid4().hex
        self.url = server.url(options=f"&options=-csearch_path%3D{schema}")
        self.run(f"CREATE SCHEMA {schema}")

    def run(self, statement, rows=None):
        with psycopg.connect(self.url, autocommit=True) as connection:
            if rows is None:
                cursor = connection.execute(statement)
                return cursor.fetchall() if cursor.description else []
            return connection.cursor().executemany(statement, rows)


@pytest.fixture(scope="session")
def new_database(request, tmp_path_factory):
    """Makes an empty database of a kind; the server is started when it is first needed."""

    def make(kind):
        if kind is PostgreSQLSchema:
            return kind(request.getfixturevalue("server"))
        return kind(tmp_path_factory.mktemp("database"))

    return make


@pytest.fixture
def sqlite_file(new_database):
    return new_database(SQLiteFile)


@pytest.fixture
def duckdb_file(new_database):
    return new_database(DuckDBFile)


@pytest.fixture
def postgresql(new_database):
    return new_database(PostgreSQLSchema)


@pytest.fixture(params=[SQLiteFile, DuckDBFile, PostgreSQLSchema], ids=["sqlite", "duckdb", "postgresql"])
def database(request, new_database):
    """Each of the three in turn."""
    return new_database(request.param)


@pytest.fixture(
    params=[SQLiteFile, DuckDBFile, PostgreSQLSchema], ids=["sqlite", "duckdb", "postgresql"], scope="class"
)
def shared_database(request, new_database):
    """Each of the three in turn, one for all tests of a class."""
    return new_database(request.param)


@pytest.fixture(scope="session")
def fill():
    """Writes examples as a wide table: id, the attributes by their names, y."""

    def write(database, X, y, *, table="t", names=None, ids=None):
        names = [f"c{j}" for j in range(X.shape[1])] if names is None else names
        columns = ", ".join(f"{quoted(name)} {database.real}" for name in [*names, "y"])
        database.run(f"CREATE TABLE {quoted(table)} (id {database.big} PRIMARY KEY, {columns})")
        ids = range(1, len(y) + 1) if ids is None else ids
        rows = [[int(i), *values, target] for i, values, target in zip(ids, X.tolist(), y.tolist(), strict=True)]
        name = quoted(table).replace("%", "%%") if database.kind == "PostgreSQL" else quoted(table)
        database.run(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)  # noqa: S608

    return write


@pytest.fixture(scope="session")
def fill_tall():
    """Writes examples as a tall table and a table of targets."""

    def write(database, X, y):
        database.run(
            f"CREATE TABLE cells (feature {database.text}, id {database.big}, value {database.real},"
            " PRIMARY KEY (feature, id))"
        )
        database.run(f"CREATE TABLE labels (id {database.big} PRIMARY KEY, y {database.real})")
        rows = [[f"f{j}", i, X[i, j].item()] for i in range(X.shape[0]) for j in range(X.shape[1])]
        database.run("INSERT INTO cells VALUES (%s, %s, %s)", rows)
        database.run("INSERT INTO labels VALUES (%s, %s)", [[i, target.item()] for i, target in enumerate(y)])

    return write


@pytest.fixture
def wide():
    """Opens the table t with the target y."""

    def open_source(database, **changes):
        return SQLSource(database.url, **{"table": "t", "target": "y", **changes})

    return open_source
