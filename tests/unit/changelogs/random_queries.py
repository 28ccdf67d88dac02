"""Small random queries on top of each other: project, filter, group, having, distinct."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    Draw = st.DrawFn

NUMBER, TEXT = "number", "text"
COLUMNS = (("id", NUMBER), ("g", TEXT), ("h", NUMBER), ("x", NUMBER))


@dataclass(frozen=True, slots=True)
class RandomQuery:
    sql: str
    oracle: str
    """The same for DuckDB, which has one row of an aggregate over nothing where a stream has none."""
    columns: tuple[tuple[str, str], ...]


@st.composite
def queries(draw: Draw) -> RandomQuery:
    query = RandomQuery("t", "t", COLUMNS)
    for level in range(draw(st.integers(1, 3))):
        verb = draw(st.sampled_from(["GROUP", "GROUP", "SELECT", "SELECT DISTINCT"]))
        query = _grouped(draw, query, level) if verb == "GROUP" else _selecting(draw, query, level, verb)
    return query


def _over(query: RandomQuery, level: int) -> tuple[str, str]:
    if query.sql == "t":
        return "t", "t"
    return f"({query.sql}) AS q{level}", f"({query.oracle}) AS q{level}"


def _selecting(draw: Draw, query: RandomQuery, level: int, verb: str) -> RandomQuery:
    plain = draw(st.lists(st.sampled_from(query.columns), min_size=1, max_size=3, unique=True))
    made = draw(st.lists(_expressions(query.columns), max_size=1))
    columns = [(f"p{level}_{at}", sql, type_) for at, (sql, type_) in enumerate([*plain, *made])]
    items = ", ".join(f"{sql} AS {name}" for name, sql, _ in columns)
    where = draw(_where(query.columns))
    sql, oracle = _over(query, level)
    return RandomQuery(
        f"{verb} {items} FROM {sql}{where}",
        f"{verb} {items} FROM {oracle}{where}",
        tuple((name, type_) for name, _, type_ in columns),
    )


def _grouped(draw: Draw, query: RandomQuery, level: int) -> RandomQuery:
    keys = draw(st.lists(st.sampled_from(query.columns) | _expressions(query.columns), max_size=2, unique=True))
    calls = draw(st.lists(_calls(query.columns), min_size=1, max_size=3, unique=True))
    named = [(f"k{level}_{at}", *key) for at, key in enumerate(keys)]
    named += [(f"a{level}_{at}", *call) for at, call in enumerate(calls)]
    items = ", ".join(f"{sql} AS {name}" for name, sql, _ in named)
    where = draw(_where(query.columns))
    grouping = draw(st.sampled_from(["{}", "{}", "{}", "ROLLUP ({})"]))
    group = f" GROUP BY {grouping.format(', '.join(sql for sql, _ in keys))}" if keys else ""
    having = draw(st.none() | st.tuples(st.sampled_from(calls), st.integers(0, 2)))
    condition = "" if having is None else f"{_compared(*having[0], having[1])}"
    sql, oracle = _over(query, level)
    said = f" HAVING {condition}" if condition else ""
    there = f" HAVING {' AND '.join(part for part in (condition, 'COUNT(*) > 0') if part)}"
    return RandomQuery(
        f"SELECT {items} FROM {sql}{where}{group}{said}",
        f"SELECT {items} FROM {oracle}{where}{group}{there}",
        tuple((name, type_) for name, _, type_ in named),
    )


def _compared(sql: str, type_: str, number: int) -> str:
    return f"{sql} > {number}" if type_ == NUMBER else f"{sql} >= '{'abc'[number]}'"


def _expressions(columns: Sequence[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    """Several values become one, so that a key of the input is none of the output."""
    numbers = [name for name, type_ in columns if type_ == NUMBER]
    texts = [name for name, type_ in columns if type_ == TEXT]
    made = [(f"MOD({name}, 3)", NUMBER) for name in numbers] + [(f"{name} + 1", NUMBER) for name in numbers]
    made += [(f"CASE WHEN {name} > 1 THEN 'some' ELSE 'few' END", TEXT) for name in numbers]
    made += [(f"COALESCE({name}, 'none')", TEXT) for name in texts]
    return st.sampled_from(made)


def _calls(columns: Sequence[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    made = [("COUNT(*)", NUMBER)]
    for name, type_ in columns:
        made += [(f"COUNT({name})", NUMBER), (f"COUNT(DISTINCT {name})", NUMBER)]
        made += [(f"MIN({name})", type_), (f"MAX({name})", type_)]
        if type_ == NUMBER:
            made += [(f"SUM({name})", NUMBER), (f"SUM(DISTINCT {name})", NUMBER)]
            made += [(f"COUNT(*) FILTER (WHERE {name} > 1)", NUMBER)]
    return st.sampled_from(made)


def _where(columns: Sequence[tuple[str, str]]) -> st.SearchStrategy[str]:
    one = st.tuples(st.sampled_from(columns), st.integers(0, 2)).map(lambda drawn: _compared(*drawn[0], drawn[1]))
    absent = st.sampled_from(columns).map(lambda column: f"{column[0]} IS NULL")
    two = st.tuples(one, st.sampled_from([" AND ", " OR "]), one | absent).map("".join)
    return st.just("") | (one | absent | two).map(lambda condition: f" WHERE {condition}")
