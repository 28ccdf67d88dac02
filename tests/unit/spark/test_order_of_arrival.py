"""The numbers that rows get in their order of arrival are the same when a batch is repeated, whatever task has them."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark import TaskContext

from millstream.kernels.operator import ORDER
from millstream.spark.kernel_host import read_in_order
from millstream.spark.splits import SPLIT

SCHEMA = pa.schema([("id", pa.int64()), (SPLIT, pa.string())])
EMPTY = pa.RecordBatch.from_pylist([], SCHEMA)
FULL = pa.RecordBatch.from_pylist([{"id": number, SPLIT: "orders-3"} for number in range(3)], SCHEMA)


@pytest.mark.parametrize("batches", [[FULL, FULL], [EMPTY, FULL, EMPTY, FULL]], ids=["full", "with empty ones"])
def test_the_split_decides(batches: list[pa.RecordBatch], monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers(task: int) -> list[int]:
        monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(partitionId=lambda: task))
        return [number for table in read_in_order(iter(batches)) for number in table[ORDER].to_pylist()]

    found = numbers(0)
    assert found == numbers(1)
    assert [number - found[0] for number in found] == list(range(6))
