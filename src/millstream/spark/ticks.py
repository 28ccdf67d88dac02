"""Ticks: rows without content that the driver adds to a query, so that a batch reaches every bucket of its kernels.

They come from Spark's memory stream, which costs nothing while there are none. It forgets its rows when the driver
ends, but a tick is only a number, so those of an unfinished batch are made again. See docs/adr/0020.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.packets import END, TICK
from millstream.spark.tick_numbers import END_TICK, FIRST_TICK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import PythonStage
    from millstream.spark.tick_numbers import TickRequest


class Ticks:
    """The ticks of one query: one when it starts, as nobody knows how long it was down, and then one per interval.

    A batch has at most one. With `only_end`, the one that ends event time is the only one to come.
    """

    def __init__(self, spark: SparkSession, request: TickRequest, *, only_end: bool = False) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
        self._jvm = jvm
        self._spark = spark
        self._interval_seconds = request.interval_seconds
        runtime = jvm.org.apache.spark.sql.execution.streaming.runtime
        self._offset = runtime.LongOffset
        texts = jvm.org.apache.spark.sql.Encoders.STRING()
        self._stream = runtime.MemoryStream.apply(texts, spark._jsparkSession)  # noqa: SLF001
        self._stream.commit(self._offset(FIRST_TICK - 1 if request.finished is None else request.finished))
        if request.finished is not None:
            self._set_last(request.finished)
        if request.begun is not None and request.begun != request.finished:
            self._set_last(request.begun - 1)
            self._add()
        if self._last() >= END_TICK:
            return
        if only_end:
            self._set_last(END_TICK - 1)
            self._add()
        elif request.interval_seconds is not None:
            self._add()

    def packets(self, settings: KernelSettings) -> DataFrame:
        """For each tick a packet to every bucket."""
        buckets = F.explode(F.sequence(F.lit(0), F.lit(settings.buckets - 1))).alias("bucket")
        content = F.col("value").cast("binary").alias("payload")
        return DataFrame(self._stream.toDF(), self._spark).select(buckets, F.lit(TICK).alias("part"), content)

    def reach(self, step: PythonStage, settings: KernelSettings) -> PythonStage:
        """The same kernel, with ticks in the exchange of its packets."""
        send = step.exchange
        assert send is not None
        return replace(step, exchange=lambda packets: send(packets.union(self.packets(settings))))

    def accompany(self, query: StreamingQuery) -> None:
        """Ticks for as long as the query runs."""
        if self._interval_seconds is not None:
            threading.Thread(target=self._tick_until_end, args=(query,), name="ticks", daemon=True).start()

    def _tick_until_end(self, query: StreamingQuery) -> None:
        assert self._interval_seconds is not None
        try:
            while not query.awaitTermination(self._interval_seconds):  # type: ignore[arg-type]
                self.tick(query)
        except (PySparkException, Py4JError, OSError):
            pass  # it has failed, or its JVM has ended: whoever supervises it finds out

    def tick(self, query: StreamingQuery) -> None:
        """Adds a tick, unless the last one is still waiting for its batch to finish."""
        found = query._jsq.streamingQuery().committedOffsets().get(self._stream)  # noqa: SLF001
        committed = int(found.get().json()) if found.isDefined() else None
        if self._last() == committed:
            self._add()

    def _last(self) -> int:
        return int(self._stream.currentOffset().offset())

    def _add(self) -> None:
        """The number of the first is set before the query starts: a number that changes is a batch."""
        if self._last() < FIRST_TICK:
            self._set_last(FIRST_TICK - 1)
        content = self._jvm.java.util.ArrayList()
        content.add(END.decode() if self._last() + 1 >= END_TICK else "")
        self._stream.addData(self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(content))

    def _set_last(self, number: int) -> None:
        getattr(self._stream, "currentOffset_$eq")(self._offset(number))
