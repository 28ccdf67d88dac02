"""A value that is to be taken from a group that never had it: left out, and counted once per row."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from tests.unit.kernels.bench import Bench

SCHEMA = pa.schema([("key", pa.string()), ("x", pa.string())])
CALLS = [
    ("MIN", False, "a"),
    ("MAX", False, "b"),
    ("FIRST_VALUE", False, "a"),
    ("LAST_VALUE", True, "b"),
    ("LISTAGG", False, "a,b"),
    ("LISTAGG", True, "a,b"),
    ("ARRAY_AGG", False, ["a", "b"]),
    ("COLLECT", False, [("a", 1), ("b", 1)]),
    ("COUNT", True, 2),
]


def bench_of(*calls: Call) -> Bench:
    bench = Bench(AggregateOperator(("key",), calls, SCHEMA), SCHEMA)
    bench.step([(RowKind.INSERT, ("A", "a")), (RowKind.INSERT, ("A", "b"))])
    return bench


def changes(kind: RowKind, *values: str) -> list[tuple[RowKind, tuple[str, str]]]:
    return [(kind, ("A", value)) for value in values]


@pytest.mark.parametrize(("function", "distinct", "result"), CALLS)
@pytest.mark.parametrize("pieces", [1, 2])
def test_missing_value_is_left_out_and_counted(function: str, result: object, pieces: int, *, distinct: bool) -> None:
    bench = bench_of(Call("y", function, "x", distinct), Call("n", "COUNT(*)"))
    [change] = bench.step([*changes(RowKind.DELETE, "c"), *changes(RowKind.INSERT, "b", "b")], pieces=pieces)
    # The number of rows follows what came and went, as in Flink; no value went.
    assert (change[KIND], change["n"]) == (RowKind.UPDATE_AFTER, 3)
    assert bench.ignored == 1
    [change] = bench.step(changes(RowKind.DELETE, "b", "b"), pieces=pieces)
    assert (change["y"], bench.ignored) == (result, 1)


def test_row_whose_values_are_missing_in_several_tables_is_one_row() -> None:
    calls = [Call(f"c{at}", function, "x", distinct) for at, (function, distinct, _) in enumerate(CALLS)]
    bench = bench_of(*calls)
    bench.step(changes(RowKind.DELETE, "c"))
    assert bench.ignored == 1
    bench.step(changes(RowKind.DELETE, "b", "c", "c"))
    assert bench.ignored == 3


def test_group_that_is_not_there_is_not_counted_twice() -> None:
    bench = bench_of(*(Call(f"c{at}", *call[:1], "x", call[1]) for at, call in enumerate(CALLS)))
    assert bench.step([(RowKind.DELETE, ("B", "a")), (RowKind.UPDATE_BEFORE, ("B", "b"))]) == []
    assert bench.ignored == 2
