"""What a step gives for rows that are looked up, against pairs made one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND
from millstream.kernels.lookup import CurrentRows
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.spark import lookup
from millstream.spark.lookup import Condition, LookupStep
from millstream.spark.python_rows import compute_columns

_TABLE = pa.schema([("id", pa.int64()), ("limit", pa.int64()), ("tags", pa.map_(pa.string(), pa.int32()))])
_ROWS = pa.schema([("k", pa.int64()), ("amount", pa.int64()), (KIND, pa.int8())])
_RESULT = pa.schema([_ROWS.field("amount"), *_TABLE, _ROWS.field(KIND)])


@dataclass(frozen=True)
class _Given:
    rows: CurrentRows

    def rows_now(self) -> CurrentRows:
        return self.rows


def _condition() -> Condition:
    script = (
        "CREATE TABLE t (amount BIGINT, `limit` BIGINT) WITH ('connector' = 'datagen');"
        "SELECT amount FROM t WHERE amount > `limit`;"
    )
    root = compile_script(SourceText("s", script), {}, {}).jobs[0].roots[0]
    [condition] = [node.condition for node in walk(root) if isinstance(node, Filter)]
    return Condition.of(condition)


@pytest.mark.parametrize("is_outer", [False, True])
@pytest.mark.parametrize("has_condition", [False, True])
@given(data=st.data())
def test_pairs_are_those_of_nested_loops(is_outer: bool, has_condition: bool, data: st.DataObject) -> None:  # noqa: FBT001
    numbers = st.integers(0, 3) | st.none()
    table = data.draw(st.lists(st.tuples(numbers, st.integers(0, 3)), max_size=8))
    batches = data.draw(st.lists(st.lists(st.tuples(numbers, st.integers(0, 3)), max_size=8), max_size=3))
    current = CurrentRows(_TABLE, ())
    tags = [{"a": at} for at in range(len(table))]
    current.apply(
        pa.Table.from_pylist(
            [{"id": id_, "limit": limit, "tags": tag} for (id_, limit), tag in zip(table, tags, strict=True)], _TABLE
        )
    )
    condition = _condition() if has_condition else None
    step = LookupStep(_Given(current), ("k",), ("id",), _RESULT, condition, is_outer)
    given_batches = [_batch(rows) for rows in batches]
    found = [list(step._look_up(batch, current)) for batch in given_batches]
    others = current.rows.to_pylist()
    expected = [_nested_loops(step, batch.to_pylist(), others) for batch in given_batches]
    assert [[row for part in parts for row in part.to_pylist()] for parts in found] == expected
    assert all(part.schema == _RESULT for parts in found for part in parts)
    assert len(list(step(iter(given_batches)))) >= len(given_batches)


def _batch(rows: list[tuple[int | None, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"k": k, "amount": n, KIND: at % 2} for at, (k, n) in enumerate(rows)], _ROWS)


def _nested_loops(step: LookupStep, rows: list[dict[str, Any]], table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    result = []
    for row in rows:
        same = [other for other in table if row["k"] is not None and row["k"] == other["id"]]
        matches = [other for other in same if step.condition is None or row["amount"] > other["limit"]]
        nothing = dict.fromkeys(_TABLE.names)
        result += [
            {"amount": row["amount"], **match, KIND: row[KIND]}
            for match in matches or ([nothing] if step.is_outer else [])
        ]
    return result


def test_many_matches_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_ROWS_TOGETHER", 7)
    current = CurrentRows(_TABLE, ())
    current.apply(pa.Table.from_pylist([{"id": 1, "limit": at, "tags": None} for at in range(10)], _TABLE))
    step = LookupStep(_Given(current), ("k",), ("id",), _RESULT, None, is_outer=False)
    rows = pa.RecordBatch.from_pylist([{"k": 1, "amount": 5, KIND: 0}] * 3, _ROWS)
    assert [part.num_rows for part in step(iter([rows]))] == [7, 7, 7, 7, 2]


def test_rows_of_which_only_the_number_is_asked_for_are_counted() -> None:
    current = CurrentRows(_TABLE, ())
    current.apply(pa.Table.from_pylist([{"id": 1, "limit": 0, "tags": []}] * 2, _TABLE))
    step = LookupStep(_Given(current), ("k",), ("id",), pa.schema([]), None, is_outer=True)
    assert [part.num_rows for part in step(iter([_batch([(1, 0), (2, 0)])]))] == [3]
    assert [part.num_rows for part in compute_columns((), pa.schema([]), iter([_batch([(1, 0), (2, 0)])]))] == [2]
