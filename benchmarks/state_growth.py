"""Whether a batch costs more when there is more state: `python -m benchmarks.state_growth [KEYS]`.

COUNT(*) and COUNT(DISTINCT) per key through the kernel host, batches of 100,000 rows of random keys, first with as many
keys in the state, then with 10 M; then a restart.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.catalog.job_settings import JobSettings
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import ROWS
from millstream.spark.kernel_host import host
from millstream.spark.kernel_stage import KernelSettings
from millstream.spark.session import OwnedSession
from millstream.state.job_state import measure
from millstream.state.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_BATCH: Final = 100_000
_FILL_BATCH: Final = 1_000_000
_MEASURED: Final = 20
_WARM_UP: Final = 3
_CORES: Final = 2
_WORKER: Final = b"millstream.spark.worker_daemon"
_BUCKETS: Final = 8
_SCHEMA: Final = pa.schema([("key", pa.int64()), ("user", pa.int64())])
_OPERATOR: Final = AggregateOperator(
    ("key",),
    (Call("pv", "COUNT(*)"), Call("uv", "COUNT", "user", distinct=True)),
    _SCHEMA,
    insert_only=True,
)


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """The largest of Spark's Python workers, in bytes."""

    own: int
    mapped: int
    """Pages of files, which the system reclaims when it needs them."""


@dataclass(frozen=True, slots=True)
class Measured:
    batch_seconds: list[float]
    state_bytes: int
    memory: WorkerMemory


class GrowingState:
    """One job whose batches are files; it is restarted for each group of them."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self._folder = folder
        self._files = 0
        (folder / "in").mkdir(parents=True)

    def run(self, spark: SparkSession, batches: list[np.ndarray]) -> Measured:
        for keys in batches:
            rows = pa.table({"key": keys, "user": keys * 7 + np.arange(len(keys)) % 3}, schema=_SCHEMA)
            pq.write_table(rows, self._folder / "in" / f"{self._files:06d}.parquet")
            self._files += 1
            time.sleep(0.002)  # files are read in the order of their times
        query = self._start(spark)
        memory = WorkerMemory(0, 0)
        while query.isActive:
            now = _worker_memory()
            memory = WorkerMemory(max(memory.own, now.own), max(memory.mapped, now.mapped))
            time.sleep(0.1)
        failure = query.exception()
        if failure is not None:
            raise failure
        seconds = [
            report.durationMs["triggerExecution"] / 1000 for report in query.recentProgress if report.numInputRows
        ]
        return Measured(seconds, sum(table.bytes for table in measure(open_storage(self.state))), memory)

    def _start(self, spark: SparkSession) -> StreamingQuery:
        rows = (
            spark.readStream.schema("key LONG, user LONG")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self._folder / "in"))
            .repartition(_CORES)
        )
        kernel = host({ROWS: rows}, _OPERATOR, "aggregate-1", KernelSettings(_BUCKETS, self.state, _CORES))
        return (
            kernel.to_frame()
            .writeStream.format("noop")
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .outputMode("update")
            .trigger(availableNow=True)
            .start()
        )


def random_batches(keys: int, number: int) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    return [random.integers(0, keys, _BATCH) for _ in range(number)]


def fill(spark: SparkSession, state: GrowingState, keys: int) -> float:
    """Inserts each key once; returns the seconds it took."""
    size = min(keys, _FILL_BATCH)
    order = np.random.default_rng(8).permutation(keys)
    return sum(state.run(spark, [order[start : start + size] for start in range(0, keys, size)]).batch_seconds)


def _worker_memory() -> WorkerMemory:
    own, mapped = [0], [0]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if _WORKER not in (status.parent / "cmdline").read_bytes().split(b"\0"):
                continue
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it ended meanwhile
            continue
        own.append(_kilobytes(fields.get("RssAnon")))
        mapped.append(_kilobytes(fields.get("RssFile")))
    return WorkerMemory(max(own), max(mapped))


def _kilobytes(field: str | None) -> int:
    return int(field.split()[0]) * 1024 if field else 0


def report(keys: int, measured: Measured) -> None:
    seconds = measured.batch_seconds[_WARM_UP:]
    memory = measured.memory
    print(
        f"{keys:>12,} keys: batch mean {mean(seconds):.2f} s, median {median(seconds):.2f} s,"
        f" longest {max(seconds):.2f} s; state {measured.state_bytes / 1e6:,.0f} MB;"
        f" largest worker {memory.own / 1e6:,.0f} MB of its own,"
        f" {memory.mapped / 1e6:,.0f} MB mapped",
        flush=True,
    )


def grow(spark: SparkSession, states: dict[int, GrowingState]) -> None:
    means = []
    for keys, state in states.items():
        print(f"{keys:>12,} keys filled in {fill(spark, state, keys):.0f} s", flush=True)
        measured = state.run(spark, random_batches(keys, _WARM_UP + _MEASURED))
        report(keys, measured)
        means.append(mean(measured.batch_seconds[_WARM_UP:]))
    print(f"ratio {means[-1] / means[0]:.2f}", flush=True)


def restart(spark: SparkSession, state: GrowingState, keys: int) -> None:
    """From the start of the query to the end of its first batch, which looks into all buckets."""
    begin = time.perf_counter()
    measured = state.run(spark, random_batches(keys, 1))
    seconds = time.perf_counter() - begin
    print(f"{keys:>12,} keys: restart in {seconds:.1f} s, of which its batch {measured.batch_seconds[0]:.1f} s")


def main() -> None:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(f"batches of {_BATCH:,} rows, {_BUCKETS} buckets, {_CORES} cores, {_MEASURED} measured", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        states = {keys: GrowingState(folder / str(keys)) for keys in (_BATCH, many)}
        with _session(folder) as spark:
            grow(spark, states)
        with _session(folder) as spark:
            restart(spark, states[many], many)


@contextmanager
def _session(folder: Path) -> Iterator[SparkSession]:
    every_batch = {"spark.sql.streaming.numRecentProgressUpdates": "1000"}
    owned = OwnedSession(JobSettings.of(every_batch), _CORES, None, folder / "spark.log", print)
    try:
        yield owned.spark
    finally:
        owned.close()


if __name__ == "__main__":
    main()
