"""Rows that are unnested in Python: what stays beside the elements, and how large a batch becomes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.changelog import KIND
from millstream.plan.operators.unnest import PartKind
from millstream.spark import unnest
from millstream.spark.unnest import unnest_batches

SCHEMA = pa.schema([("id", pa.int32()), ("tag", pa.string()), ("n", pa.int32()), (KIND, pa.int8())])
PARTS = ((PartKind.ELEMENT, ""), (PartKind.ORDINALITY, ""))


def run(*batches: pa.RecordBatch, keeps_rows: bool = False) -> list[pa.RecordBatch]:
    steps = unnest_batches("tags", PARTS, SCHEMA, 1, iter(batches), is_multiset=False, keeps_rows=keeps_rows)
    return list(steps)


def batch(ids: list[int], tags: list[list[str] | None], kinds: list[int]) -> pa.RecordBatch:
    arrays = [pa.array(ids, pa.int32()), pa.array(tags, pa.list_(pa.string())), pa.array(kinds, pa.int8())]
    return pa.RecordBatch.from_arrays(arrays, names=["id", "tags", KIND])


def test_kinds_and_columns_follow_the_elements() -> None:
    [found] = run(batch([1, 2, 3], [["a", "b"], None, ["c"]], [0, 0, 3]))
    assert found.schema == SCHEMA
    assert found.to_pydict() == {"id": [1, 1, 3], "tag": ["a", "b", "c"], "n": [1, 2, 1], KIND: [0, 0, 3]}


def test_a_row_without_elements_stays_in_its_place() -> None:
    [found] = run(batch([1, 2, 3], [["a"], [], ["c"]], [0, 1, 2]), keeps_rows=True)
    assert found.to_pydict() == {"id": [1, 2, 3], "tag": ["a", None, "c"], "n": [1, None, 1], KIND: [0, 1, 2]}


def test_a_batch_without_rows_remains_one() -> None:
    assert [found.num_rows for found in run(batch([1], [[]], [0]), batch([2], [["x"]], [0]))] == [0, 1]


@pytest.mark.parametrize("keeps_rows", [False, True])
def test_many_elements_come_in_several_batches(monkeypatch: pytest.MonkeyPatch, *, keeps_rows: bool) -> None:
    monkeypatch.setattr(unnest, "_ROWS_TOGETHER", 10)
    tags = [str(number) for number in range(25)]
    found = run(batch([1, 2], [tags, tags], [0, 0]), keeps_rows=keeps_rows)
    assert [each.num_rows for each in found] == [10, 10, 10, 10, 10]
    assert [tag for each in found for tag in each.column("tag").to_pylist()] == tags * 2
