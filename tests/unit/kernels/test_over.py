"""OVER in order of time: random rows out of order, some of them late, in random batches; DuckDB computes the truth."""

from __future__ import annotations

import copy
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.aggregates.calls import Call
from millstream.changelog import KIND, RowKind
from millstream.kernels.frames import Frame
from millstream.kernels.operator import MAX_WATERMARK, BatchTime
from millstream.kernels.over import OverOperator
from millstream.kernels.over_calls import FrameCall, Numbering, Shift
from millstream.state.segment_writer import PIECE_BYTES
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.bench import Bench
from tests.unit.tiny_segments import TINY_PIECE, tiny_segments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

START = datetime(2026, 1, 1)  # noqa: DTZ001 # as in a TIMESTAMP column
START_MS = 1_767_225_600_000
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("k", pa.string()),
        ("ts", pa.timestamp("ms")),
        ("x", pa.int32()),
        ("y", pa.float64()),
        ("is_high", pa.bool_()),
        ("other", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Kind:
    """A call and the same in DuckDB; `x` stands for the argument."""

    function: str
    argument: str | None
    duckdb: str
    distinct: bool = False
    filter: str | None = None
    in_order: bool = False
    """Whether it depends on the order of rows of the same time."""


KINDS = (
    Kind("COUNT(*)", None, "COUNT(*)"),
    Kind("COUNT", "x", "COUNT(x)"),
    Kind("SUM", "x", "SUM(x)"),
    Kind("SUM", "x", "SUM(x) FILTER (WHERE is_high)", filter="is_high"),
    Kind("AVG", "y", "AVG(y)"),
    Kind("AVG", "x", "TRUNC(AVG(x))"),
    Kind("MIN", "x", "MIN(x)"),
    Kind("MAX", "y", "MAX(y)"),
    Kind("MIN", "k", "MIN(k)"),
    Kind("VAR_POP", "y", "VAR_POP(y)"),
    Kind("STDDEV_SAMP", "y", "STDDEV_SAMP(y)"),
    Kind("FIRST_VALUE", "x", "FIRST_VALUE(x IGNORE NULLS)", in_order=True),
    Kind("LAST_VALUE", "x", "LAST_VALUE(x IGNORE NULLS)", in_order=True),
    Kind("COUNT", "x", "COUNT(DISTINCT x)", distinct=True),
    Kind("SUM", "x", "SUM(DISTINCT x) FILTER (WHERE is_high)", distinct=True, filter="is_high"),
    Kind("COUNT", "k", "COUNT(DISTINCT k)", distinct=True),
    Kind("MAX", "x", "MAX(DISTINCT x)", distinct=True),
    Kind("LISTAGG", "k", "STRING_AGG(k, ',')"),
    Kind("ARRAY_AGG", "x", "ARRAY_AGG(x)", in_order=True),
    Kind("ARRAY_AGG", "x", "ARRAY_AGG(x) FILTER (WHERE is_high)", in_order=True, filter="is_high"),
    Kind("PERCENTILE", "x", "QUANTILE_CONT(x, 0.25)"),
)
FRAMES = (
    (Frame(), "RANGE UNBOUNDED PRECEDING"),
    (Frame(by_time=False), "ROWS UNBOUNDED PRECEDING"),
    (Frame(0), "RANGE CURRENT ROW"),
    (Frame(3), "RANGE INTERVAL 3 MILLISECONDS PRECEDING"),
    (Frame(40), "RANGE INTERVAL 40 MILLISECONDS PRECEDING"),
    (Frame(0, by_time=False), "ROWS CURRENT ROW"),
    (Frame(1, by_time=False), "ROWS 1 PRECEDING"),
    (Frame(6, by_time=False), "ROWS 6 PRECEDING"),
)
NUMBERINGS = (
    (Numbering("number", "ROW_NUMBER"), "ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order})"),
    (Numbering("rank", "RANK"), "RANK() OVER (PARTITION BY k ORDER BY {place})"),
    (Numbering("dense", "DENSE_RANK"), "DENSE_RANK() OVER (PARTITION BY k ORDER BY {place})"),
)
LAGS = (
    (Shift("lag", "x", 1), "LAG(x) OVER (PARTITION BY k ORDER BY {order})"),
    (Shift("lag3", "x", 3, "other"), "LAG(x, 3, other) OVER (PARTITION BY k ORDER BY {order})"),
    (Shift("itself", "k", 0), "k"),
)


@dataclass(frozen=True)
class Query:
    operator: OverOperator
    oracle: dict[str, str]
    """By the column of the result."""


def random_query(chance: Random, *, event_time: bool, partitioned: bool = True, expires: bool = False) -> Query:
    place = "ts" if event_time else "id"
    terms = {"order": "ts, id" if event_time else "id", "place": place}
    calls, oracle = [], {}
    for number in range(chance.randint(0, 4)):
        kind, (frame, text) = chance.choice(KINDS), chance.choice(FRAMES)
        if not event_time and frame.by_time and frame.preceding is not None:
            frame, text = Frame(2, by_time=False), "ROWS 2 PRECEDING"
        output = f"r{number}"
        call = Call(
            output,
            kind.function,
            kind.argument,
            kind.distinct,
            kind.filter,
            ("0.25",) * (kind.function == "PERCENTILE"),
        )
        calls.append(FrameCall(call, frame))
        order = "ts" if event_time and frame.by_time else terms["order"]
        if event_time and frame.by_time and kind.in_order:
            continue  # DuckDB takes rows of the same time in any order: `test_rows_of_one_time_come_as_they_arrived`
        aggregate = kind.duckdb.replace("TRUNC(", "").replace("))", ")") if "TRUNC" in kind.duckdb else kind.duckdb
        window = f"{aggregate} OVER (PARTITION BY k ORDER BY {order} {text})"
        oracle[output] = f"TRUNC({window})" if "TRUNC" in kind.duckdb else window
    numberings = chance.sample(NUMBERINGS, chance.choice([0, 0, 1, 3]))
    lags = chance.sample(LAGS, chance.choice([0, 0, 1, 3]))
    for numbering, text in numberings:
        oracle[numbering.output] = text.format(**terms)
    for lag, text in lags:
        oracle[lag.output] = text.format(**terms)
    if not partitioned:
        oracle = {name: text.replace("PARTITION BY k ", "") for name, text in oracle.items()}
    operator = OverOperator(
        SCHEMA,
        ("k",) if partitioned else (),
        "ts" if event_time else None,
        tuple(calls),
        tuple(lag for lag, _ in lags),
        tuple(numbering for numbering, _ in numberings),
        expires=expires,
    )
    return Query(operator, oracle)


def random_row(chance: Random, number: int, newest: int) -> tuple[Any, ...]:
    """Most often near the newest, and sometimes far behind."""
    at = max(newest + chance.choice([0, 0, 1, 1, 2, 5, 30, 200, -1, -2, -10, -100]), 0)
    x = chance.choice([None, 0, 1, 2, 3, -7])
    y = chance.choice([None, 0.0, 1.5, 2.25, -3.0])
    k = chance.choice(["a", "a", "b", "c", None])
    is_high = chance.choice([None, True, False])
    return (number, k, START + timedelta(milliseconds=at), x, y, is_high, chance.randint(0, 9))


def milliseconds(at: datetime) -> int:
    return (at - START) // timedelta(milliseconds=1) + START_MS


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def truth(query: Query, rows: list[tuple[Any, ...]], database: duckdb.DuckDBPyConnection) -> dict[int, dict[str, Any]]:
    columns = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(SCHEMA)]
    database.register("t", pa.table(columns, schema=SCHEMA))
    wanted = ", ".join(["id", *(f"{text} AS {name}" for name, text in query.oracle.items())])
    found = database.execute(f"SELECT {wanted} FROM t").fetchall()
    return {row[0]: dict(zip(query.oracle, row[1:], strict=True)) for row in found}


def agree(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(_is_same(found[name], value) for name, value in expected.items())


def _is_same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and expected is not None:
        return found == pytest.approx(float(expected))
    if isinstance(expected, str) and isinstance(found, str):
        return sorted(found.split(",")) == sorted(expected.split(","))  # of the same time, in any order
    return bool(found == expected)


@given(
    chance=st.randoms(use_true_random=True),
    colliding=st.booleans(),
    partitioned=st.booleans(),
    expires=st.booleans(),
    in_parts=st.booleans(),
)
def test_event_time(
    database: duckdb.DuckDBPyConnection,
    chance: Random,
    *,
    colliding: bool,
    partitioned: bool,
    expires: bool,
    in_parts: bool,
) -> None:
    query = random_query(chance, event_time=True, partitioned=partitioned, expires=expires)
    note(str(query))
    bench = bench_of(query, chance, colliding=colliding, in_parts=in_parts)
    with tiny_segments() if in_parts else nullcontext():
        wait_for_watermarks(bench, query, chance, database)


def wait_for_watermarks(bench: Bench, query: Query, chance: Random, database: duckdb.DuckDBPyConnection) -> None:
    expires = query.operator.expires
    bench.ttl = TimeToLive(0, 1) if expires else None
    newest, number = 100, 0
    watermark: int | None = None
    taken: list[tuple[Any, ...]] = []
    late, found = 0, dict[int, dict[str, Any]]()
    for step in range(chance.randint(1, 6)):
        batch = []
        for _ in range(chance.choice([0, 1, 3, 10, 60])):
            batch.append(random_row(chance, number, newest))
            newest = max(newest, milliseconds(batch[-1][2]) - milliseconds(START))
            number += 1
        in_time = [row for row in batch if watermark is None or milliseconds(row[2]) > watermark]
        late += len(batch) - len(in_time)
        taken += in_time
        before, reached = watermark, milliseconds(START) + newest - chance.choice([0, 2, 20, 500])
        if chance.random() < 0.8:
            watermark = reached if watermark is None else max(watermark, reached)
        bench.time = BatchTime(step, watermark, before)
        repeated = copy.deepcopy(bench)
        changes = bench.step([(RowKind.INSERT, row) for row in batch], pieces=1)
        assert repeated.step([(RowKind.INSERT, row) for row in batch], pieces=1) == changes
        for row in changes:
            assert row.pop(KIND) == RowKind.INSERT
            assert row["id"] not in found
            assert before is None or milliseconds(row["ts"]) > before
            assert watermark is not None
            assert milliseconds(row["ts"]) <= watermark
            found[row["id"]] = row
        waiting = [row for row in taken if watermark is None or milliseconds(row[2]) > watermark]
        assert len(found) == len(taken) - len(waiting)
    bench.time = BatchTime(9, MAX_WATERMARK, watermark)
    found |= {row["id"]: row for row in bench.step([])}
    assert bench.late == late
    expected = truth(query, taken, database)
    assert found.keys() == expected.keys()
    for id_, row in expected.items():
        assert agree(found[id_], row), (id_, found[id_], row)
    stored = bench.stored_rows()
    assert stored.get("waiting", 0) == stored.get("ends", 0) == 0
    if query.operator.kept_rows == 0:
        assert stored.get("kept", 0) == 0


@given(
    chance=st.randoms(use_true_random=True), colliding=st.booleans(), partitioned=st.booleans(), in_parts=st.booleans()
)
def test_processing_time(
    database: duckdb.DuckDBPyConnection, chance: Random, *, colliding: bool, partitioned: bool, in_parts: bool
) -> None:
    query = random_query(chance, event_time=False, partitioned=partitioned)
    note(str(query))
    bench = bench_of(query, chance, colliding=colliding, in_parts=in_parts)
    with tiny_segments() if in_parts else nullcontext():
        take_as_they_arrive(bench, query, chance, database)


def bench_of(query: Query, chance: Random, *, colliding: bool, in_parts: bool) -> Bench:
    buckets = chance.choice([1, 3]) if query.operator.keys else 1
    piece_bytes = TINY_PIECE if in_parts else PIECE_BYTES
    return Bench(query.operator, SCHEMA, colliding=colliding, buckets=buckets, piece_bytes=piece_bytes)


def take_as_they_arrive(bench: Bench, query: Query, chance: Random, database: duckdb.DuckDBPyConnection) -> None:
    rows: list[tuple[Any, ...]] = []
    found: dict[int, dict[str, Any]] = {}
    for _ in range(chance.randint(1, 6)):
        batch = [random_row(chance, len(rows) + at, 100) for at in range(chance.choice([1, 3, 10, 60]))]
        rows += batch
        changes = bench.step([(RowKind.INSERT, row) for row in batch], pieces=chance.choice([1, 3]))
        assert {row["id"] for row in changes} == {row[0] for row in batch}
        found |= {row["id"]: row for row in changes}
    expected = truth(query, rows, database)
    for id_, row in expected.items():
        assert agree(found[id_], row), (id_, found[id_], row)


def test_rows_of_one_time_come_as_they_arrived() -> None:
    calls = [FrameCall(Call(name, name, "x"), Frame(5)) for name in ("FIRST_VALUE", "LAST_VALUE", "ARRAY_AGG")]
    bench = Bench(OverOperator(SCHEMA, ("k",), "ts", tuple(calls)), SCHEMA)
    bench.step(
        [(RowKind.INSERT, (1, "a", START, 3, None, None, 0)), (RowKind.INSERT, (2, "a", START, 1, None, None, 0))]
    )
    bench.time = BatchTime(0, milliseconds(START), None)
    rows = bench.step([(RowKind.INSERT, (3, "a", START, 2, None, None, 0))])
    assert [(row["FIRST_VALUE"], row["LAST_VALUE"], row["ARRAY_AGG"]) for row in rows] == [(3, 2, [3, 1, 2])] * 3


def test_an_interval_of_processing_time_reaches_back_over_batches_and_a_clock_set_back() -> None:
    call = FrameCall(Call("sum", "SUM", "x"), Frame(10))
    bench = Bench(OverOperator(SCHEMA, ("k",), None, (call,)), SCHEMA)
    sums = []
    for number, now in enumerate([100, 105, 112, 90, 111, 130]):
        bench.time = BatchTime(now)
        sums += [row["sum"] for row in bench.step([(RowKind.INSERT, (number, "a", START, 1 << number, None, None, 0))])]
    assert sums == [1, 1 + 2, 2 + 4, 2 + 4 + 8, 2 + 4 + 8 + 16, 32]
    assert Counter(bench.stored_rows()) == {"kept": 1, "ends": 1}


def test_partitions_that_fall_silent_leave_no_rows() -> None:
    call = FrameCall(Call("sum", "SUM", "x"), Frame(10))
    bench = Bench(OverOperator(SCHEMA, ("k",), "ts", (call,)), SCHEMA, buckets=4)
    most, before = 0, None
    for minute in range(60):
        rows = [
            (minute * 100 + n, f"k{minute}-{n % 25}", START + timedelta(milliseconds=minute * 5), 1, None, None, 0)
            for n in range(100)
        ]
        watermark = milliseconds(rows[0][2])
        bench.time = BatchTime(minute, watermark, before)
        assert len(bench.step([(RowKind.INSERT, row) for row in rows])) == 100
        before = watermark
        most = max(most, sum(bench.stored_rows().values()))
    assert most < 2000


def test_a_row_without_a_time_is_late() -> None:
    bench = Bench(OverOperator(SCHEMA, (), "ts", (FrameCall(Call("n", "COUNT(*)"), Frame()),)), SCHEMA)
    bench.time = BatchTime(0, 5, None)
    assert bench.step([(RowKind.INSERT, (1, "a", None, 1, None, None, 0))]) == []
    assert bench.late == 1


def test_rows_of_a_partition_expire_together() -> None:
    call = FrameCall(Call("sum", "SUM", "x"), Frame(5, by_time=False))
    bench = Bench(OverOperator(SCHEMA, ("k",), None, (call,), expires=True), SCHEMA)
    sums = []
    for number, now in enumerate([0, 8, 16, 27]):
        bench.ttl = TimeToLive(now, 10)
        sums += [row["sum"] for row in bench.step([(RowKind.INSERT, (number, "a", START, 1 << number, None, None, 0))])]
    assert sums == [1, 1 + 2, 1 + 2 + 4, 8]


def test_rows_that_wait_do_not_expire() -> None:
    call = FrameCall(Call("n", "COUNT(*)"), Frame())
    bench = Bench(OverOperator(SCHEMA, ("k",), "ts", (call,), expires=True), SCHEMA)
    bench.ttl, bench.time = TimeToLive(0, 10), BatchTime(0)
    assert bench.step([(RowKind.INSERT, (1, "a", START, 1, None, None, 0))]) == []
    bench.ttl, bench.time = TimeToLive(100, 10), BatchTime(100, START_MS)
    assert [row["n"] for row in bench.step([])] == [1]


@given(chance=st.randoms(use_true_random=True))
def test_an_interval_goes_back_from_the_time_of_a_batch(database: duckdb.DuckDBPyConnection, chance: Random) -> None:
    kinds = chance.sample([kind for kind in KINDS if kind.function in ("SUM", "COUNT", "MAX", "COUNT(*)")], 3)
    calls = tuple(
        FrameCall(Call(f"r{at}", kind.function, kind.argument, kind.distinct, kind.filter), Frame(7))
        for at, kind in enumerate(kinds)
    )
    operator = OverOperator(SCHEMA, ("k",), None, calls)
    oracle = {f"r{at}": f"{kind.duckdb} OVER (PARTITION BY k)" for at, kind in enumerate(kinds)}
    bench = Bench(operator, SCHEMA, buckets=3)
    rows: list[tuple[Any, ...]] = []
    now = 0
    for _ in range(6):
        now += chance.choice([0, 1, 5, 20])
        bench.time = BatchTime(now)
        at = START + timedelta(milliseconds=now)
        drawn = [random_row(chance, len(rows) + place, 0) for place in range(4)]
        batch = [(*row[:2], at, *row[3:]) for row in drawn]
        rows += batch
        for row in bench.step([(RowKind.INSERT, each) for each in batch]):
            young = [each for each in rows if each[0] <= row["id"] and each[2] >= at - timedelta(milliseconds=7)]
            assert agree(row, truth(Query(operator, oracle), young, database)[row["id"]])
