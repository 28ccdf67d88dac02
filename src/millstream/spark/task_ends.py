"""The failpoint between the end of a task and the end of its batch, where the driver is while Spark waits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from millstream.failpoints import is_armed, reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

    from millstream.spark.python_stage import Step


def report_end(step: Step | None, spark: SparkSession) -> Step | None:
    """Wraps `step` so that it reports the end of its task to the driver, if the failpoint is armed."""
    if step is None or not is_armed("after-task"):
        return step
    return partial(_run_and_report, step, spark.sparkContext.accumulator(0, _Ends()))


class _Ends(AccumulatorParam[int]):
    """Every task sends its update, even an empty one; Spark ends the batch once the driver has all of them."""

    def zero(self, value: int) -> int:
        return value

    def addInPlace(self, value1: int, value2: int) -> int:  # noqa: N802
        reach("after-task")
        return value1 + value2


def _run_and_report(step: Step, _ends: Accumulator[int], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return step(batches)
