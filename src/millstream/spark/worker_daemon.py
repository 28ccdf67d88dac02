"""The process that Spark's Python workers are forked from, with their modules already loaded.

Without it, each worker imports pyspark, pandas and pyarrow itself, which costs a new job seconds before its first
batch. Polars is not loaded: it starts a thread, which a fork would lose. See docs/adr/0003-preloaded-workers.md.
"""

from __future__ import annotations

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
    "millstream.state.state_table",
    "millstream.spark.kernel_stage",
)


def preload() -> None:
    # Spark puts its zipped copy of pyspark first, which is compiled again in every process.
    sys.path[:] = [entry for entry in sys.path if not _is_zipped_spark(entry)]
    for name in _PRELOADED:
        importlib.import_module(name)
    # A worker collects garbage after every task. Freezing what is loaded here saves it 27 ms each time.
    gc.collect()
    gc.freeze()


def _is_zipped_spark(entry: str) -> bool:
    return entry.endswith(".zip") and Path(entry).name.startswith(("pyspark", "py4j"))


def run_task(serve: Callable[..., int], *connection: object) -> int:
    """Runs a task and freezes what it had to load: in a worker with Polars, a collection takes 19 ms otherwise."""
    loaded = len(sys.modules)
    ended = serve(*connection)
    if len(sys.modules) > loaded:
        gc.collect()
        gc.freeze()
    return ended


if __name__ == "__main__":
    preload()
    from pyspark import daemon

    daemon.worker = partial(run_task, daemon.worker)
    daemon.manager()
