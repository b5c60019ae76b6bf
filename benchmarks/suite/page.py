"""The tables of docs/performance.md, written from the committed numbers between marks in the page.

    python benchmarks/suite/page.py

A mark is a comment, ``<!-- table: passes -->``, and its table ends at ``<!-- end -->``. Nothing is measured here.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "performance.md"
RESULTS = HERE.parent / "results" / "performance.json"

Rows = list[dict[str, Any]]

LOOKS = "numbers per attribute and look"

MARKED = re.compile(r"(<!-- table: ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def write(results: dict[str, Any]) -> None:
    """Put every table that was measured into the page."""

    def renewed(found: re.Match[str]) -> str:
        name = found[2]
        if name not in results:
            return found[0]
        return found[1] + TABLES.get(name.partition(",")[0], _plain)(results[name]) + found[3]

    PAGE.write_text(MARKED.sub(renewed, PAGE.read_text()))


def _ratio(row: dict[str, Any]) -> str:
    if "skipped" in row:
        return str(row["skipped"])
    return f"{row['ratio']:.3g} ({row['lowest']:.3g} to {row['highest']:.3g})" if row["ratio"] != 1 else "1"


def _crossed(rows: Rows, cell: Callable[[dict[str, Any]], str] = _ratio) -> str:
    """Contestants down, cases across: the ratio and its spread, or what ``cell`` makes of a row."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    found = {(row["case"], row["contestant"]): cell(row) for row in rows}
    body = [[name, *(found.get((case, name), "") for case in cases)] for name in names]
    return _table(["wall clock" if "clock" in rows[0] else "", *cases], body)


def _touching(rows: Rows) -> str:
    """Learners down, layouts across; touching itself is 1."""
    named = [{**row, "case": row["case"].rpartition(",")[0]} for row in rows if row["contestant"] != "touching"]
    return _crossed(named)


def _memory(rows: Rows) -> str:
    """Learners down, sizes across: numbers of eight bytes per attribute, and for Pursuit per attribute and look."""
    per_look = [
        {**row, "contestant": f"{row['contestant']}, per look", "numbers per attribute": row[LOOKS]}
        for row in rows
        if LOOKS in row
    ]
    return _crossed(rows + per_look, lambda row: f"{row['numbers per attribute']:g}")


def _plain(rows: Rows) -> str:
    """One line a row, all its columns."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return _table(columns, [[_cell(row.get(column, "")) for column in columns] for row in rows])


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "nothing"
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


TABLES: dict[str, Callable[[Rows], str]] = {
    "passes": _crossed,
    "touching": _touching,
    "growing": _crossed,
    "lengthening": _crossed,
    "compiling": _crossed,
    "memory": _memory,
}

if __name__ == "__main__":
    write(json.loads(RESULTS.read_text()))
