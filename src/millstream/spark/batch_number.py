"""The number of the batch that a task belongs to."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

_PROPERTY: Final = "streaming.sql.batchId"


def batch_number() -> int:
    """Called in a task of a streaming query; Spark hands it down as a local property."""
    context = TaskContext.get()
    assert context is not None
    number = context.getLocalProperty(_PROPERTY)
    assert number is not None
    return int(number)
