"""The process that Spark's Python workers are forked from, with their modules already loaded.

Without it, each worker imports pyspark, pandas, pyarrow, polars and our own modules itself, which costs a new job
seconds before its first batch. See docs/adr/0003-preloaded-workers.md, also for what may be loaded before a fork.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_PRELOADED: Final = (
    "pyspark.worker",
    "pyarrow.compute",
    "pandas",
    "polars",
    "millstream.aggregates.registry",
    "millstream.spark.kafka_stream_reader",
    "millstream.spark.message_columns",
    "millstream.spark.message_decoding",
    "millstream.spark.kafka_sink",
    "millstream.spark.worker_delivery",
    "millstream.spark.kernel_host",
    "millstream.kernels.aggregate",
    "millstream.kernels.interval_join",
    "millstream.kernels.join",
    "millstream.kernels.lookup",
    "millstream.kernels.materialise",
    "millstream.kernels.normalise",
    "millstream.kernels.over",
    "millstream.kernels.rank",
    "millstream.kernels.sessions",
    "millstream.kernels.set_operation",
    "millstream.kernels.temporal_join",
    "millstream.kernels.updated_over",
    "millstream.kernels.window_aggregate",
    "millstream.kernels.window_join",
    "millstream.kernels.window_rank",
)

_TRIM_THRESHOLD: Final = (-1, 128 << 20)
_MMAP_THRESHOLD: Final = (-3, 32 << 20)
"""Parameters of glibc's `mallopt`, and their values in bytes."""


def preload() -> None:
    # Spark puts its zipped copy of pyspark first, which is compiled again in every process.
    sys.path[:] = [entry for entry in sys.path if not _is_zipped_spark(entry)]
    for name in _PRELOADED:
        importlib.import_module(name)
    # A worker collects garbage after every task. Freezing what is loaded here saves it 27 ms each time.
    gc.collect()
    gc.freeze()


def keep_freed_memory() -> bool:
    """Has the allocator keep what a batch frees for the next one. See docs/adr/0025-json-by-layout.md.

    False with another C library than glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    return all(mallopt(*parameter) for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))


def _is_zipped_spark(entry: str) -> bool:
    return entry.endswith(".zip") and Path(entry).name.startswith(("pyspark", "py4j"))


def run_task(serve: Callable[..., int], *connection: object) -> int:
    """Runs a task and freezes what it had to load, such as the modules of a user's functions."""
    loaded = len(sys.modules)
    ended = serve(*connection)
    if (lookups := sys.modules.get("millstream.spark.lookup_content")) is not None:
        lookups.release_ended()
    if len(sys.modules) > loaded:
        gc.collect()
        gc.freeze()
    return ended


if __name__ == "__main__":
    keep_freed_memory()
    preload()
    from pyspark import daemon

    daemon.worker = partial(run_task, daemon.worker)
    daemon.manager()
