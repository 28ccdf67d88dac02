"""OVER over rows that are retracted: after each batch, all changes make what DuckDB computes of what is there."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.aggregates.calls import Call
from millstream.changelog import KIND, RowKind
from millstream.kernels.frames import Frame
from millstream.kernels.over_calls import FrameCall, Numbering, Shift
from millstream.kernels.row_order import SortKey
from millstream.kernels.updated_over import UpdatedOverOperator
from millstream.state.segment_writer import PIECE_BYTES
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.bench import Bench
from tests.unit.tiny_segments import TINY_PIECE, tiny_segments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

SCHEMA = pa.schema([("k", pa.string()), ("o", pa.int64()), ("x", pa.int32()), ("y", pa.float64())])
COMES = (RowKind.INSERT, RowKind.UPDATE_AFTER)
FRAMES = (
    (Frame(), "RANGE UNBOUNDED PRECEDING"),
    (Frame(by_time=False), "ROWS UNBOUNDED PRECEDING"),
    (Frame(2, by_time=False), "ROWS 2 PRECEDING"),
    (Frame(1, by_time=False, following=2), "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING"),
    (Frame(0, by_time=True, following=None), "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    (Frame(following=None), "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
)
CALLS = (
    ("COUNT(*)", None, False, "COUNT(*)"),
    ("SUM", "x", False, "SUM(x)"),
    ("AVG", "y", False, "AVG(y)"),
    ("MAX", "y", False, "MAX(y)"),
    ("COUNT", "x", True, "COUNT(DISTINCT x)"),
    ("SUM", "x", True, "SUM(DISTINCT x)"),
    ("MAX", "y", True, "MAX(DISTINCT y)"),
)
ALL = "k NULLS FIRST, x NULLS FIRST, y NULLS FIRST"
OTHERS: tuple[tuple[Shift | Numbering, str], ...] = (
    (Shift("lag", "x", 1), "LAG(x) OVER (PARTITION BY k ORDER BY {all})"),
    (Shift("lead", "x", -2), "LEAD(x, 2) OVER (PARTITION BY k ORDER BY {all})"),
    (Numbering("number", "ROW_NUMBER"), "ROW_NUMBER() OVER (PARTITION BY k ORDER BY {all})"),
    (Numbering("rank", "RANK"), "RANK() OVER (PARTITION BY k ORDER BY {order})"),
    (Numbering("dense", "DENSE_RANK"), "DENSE_RANK() OVER (PARTITION BY k ORDER BY {order})"),
    (Numbering("percent", "PERCENT_RANK"), "PERCENT_RANK() OVER (PARTITION BY k ORDER BY {order})"),
    (Numbering("share", "CUME_DIST"), "CUME_DIST() OVER (PARTITION BY k ORDER BY {order})"),
    (Numbering("tile", "NTILE", 3), "NTILE(3) OVER (PARTITION BY k ORDER BY {all})"),
)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def random_operator(
    chance: Random, *, partitioned: bool, expires: bool, repeats: bool
) -> tuple[UpdatedOverOperator, list[str]]:
    descending, nulls_last = chance.choice([True, False]), chance.choice([True, False])
    order = f"o {'DESC' if descending else ''} NULLS {'LAST' if nulls_last else 'FIRST'}"
    calls, texts = [], []
    for number in range(chance.randint(0, 3)):
        (function, argument, distinct, text), (frame, words) = chance.choice(CALLS), chance.choice(FRAMES)
        calls.append(FrameCall(Call(f"r{number}", function, argument, distinct), frame))
        by = order if words.startswith("RANGE") else f"{order}, {ALL}"
        texts.append(f"{text} OVER (PARTITION BY k ORDER BY {by} {words})")
    others = chance.sample(OTHERS, chance.choice([1, 2, 8]))
    shifts = [(one, text) for one, text in others if isinstance(one, Shift)]
    numberings = [(one, text) for one, text in others if isinstance(one, Numbering)]
    texts += [text.format(all=f"{order}, {ALL}", order=order) for _, text in (*shifts, *numberings)]
    operator = UpdatedOverOperator(
        SCHEMA,
        ("k",) if partitioned else (),
        (SortKey("o", descending, nulls_last),),
        tuple(calls),
        tuple(shift for shift, _ in shifts),
        tuple(numbering for numbering, _ in numberings),
        expires=expires,
        repeats=repeats,
    )
    return operator, [text if partitioned else text.replace("PARTITION BY k ", "") for text in texts]


def random_row(chance: Random) -> tuple[Any, ...]:
    k, x = chance.choice(["a", "a", "b", None]), chance.choice([None, 1, 2, 3])
    return (k, chance.choice([None, 1, 2, 3, 4, 5]), x, chance.choice([None, 0.5, 1.25]))


@given(
    chance=st.randoms(use_true_random=True),
    colliding=st.booleans(),
    partitioned=st.booleans(),
    expires=st.booleans(),
    repeats=st.booleans(),
    in_parts=st.booleans(),
)
def test_changes_make_the_table(
    database: duckdb.DuckDBPyConnection,
    chance: Random,
    *,
    colliding: bool,
    partitioned: bool,
    expires: bool,
    repeats: bool,
    in_parts: bool,
) -> None:
    operator, texts = random_operator(chance, partitioned=partitioned, expires=expires, repeats=expires and repeats)
    note(str(operator))
    buckets, piece_bytes = chance.choice([1, 3]) if partitioned else 1, TINY_PIECE if in_parts else PIECE_BYTES
    bench = Bench(operator, SCHEMA, colliding=colliding, buckets=buckets, piece_bytes=piece_bytes)
    bench.ttl = TimeToLive(0, 1) if expires else None
    table: list[tuple[Any, ...]] = []
    seen = Counter[tuple[Any, ...]]()
    for _ in range(chance.randint(1, 5)):
        batch = []
        for _ in range(chance.choice([1, 2, 5, 20])):
            if table and chance.random() < 0.4:
                batch.append(
                    (chance.choice([RowKind.DELETE, RowKind.UPDATE_BEFORE]), table.pop(chance.randrange(len(table))))
                )
            else:
                batch.append((chance.choice([RowKind.INSERT, RowKind.UPDATE_AFTER]), random_row(chance)))
                table.append(batch[-1][1])
        note(str(batch))
        with tiny_segments() if in_parts else nullcontext():
            changes = bench.step(batch, pieces=chance.choice([1, 3]))
        for row in changes:
            kind = RowKind(row.pop(KIND))
            seen[_rounded(tuple(row.values()))] += 1 if kind in COMES else -1
            assert min(seen.values()) >= 0, "what went was not there"
        assert +seen == Counter(truth(table, texts, database))
    assert bench.ignored == 0


def test_what_was_not_there_is_ignored() -> None:
    bench = Bench(UpdatedOverOperator(SCHEMA, (), (), (FrameCall(Call("n", "COUNT(*)"), Frame()),)), SCHEMA)
    assert bench.step([(RowKind.DELETE, ("a", 1, 1, 1.0))]) == []
    assert bench.ignored == 1


def test_a_row_that_stays_is_updated_and_not_replaced() -> None:
    bench = Bench(UpdatedOverOperator(SCHEMA, ("k",), (), (FrameCall(Call("n", "COUNT(*)"), Frame()),)), SCHEMA)
    bench.step([(RowKind.INSERT, ("a", 1, 1, 1.0)), (RowKind.INSERT, ("b", 1, 1, 1.0))])
    changes = bench.step([(RowKind.INSERT, ("a", 2, 1, 1.0))])
    kinds = [(RowKind(row[KIND]).symbol, row["o"], row["n"]) for row in changes]
    assert kinds == [("-U", 1, 1), ("+U", 1, 2), ("+I", 2, 2)]


def truth(table: list[tuple[Any, ...]], texts: list[str], database: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    columns = [pa.array([row[at] for row in table], field.type) for at, field in enumerate(SCHEMA)]
    database.register("t", pa.table(columns, schema=SCHEMA))
    found = database.execute(f"SELECT {', '.join(['*', *texts])} FROM t").fetchall()
    return [_rounded(row) for row in found]


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(round(value, 9) if isinstance(value, float) else value for value in row)
