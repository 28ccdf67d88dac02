"""What workers find loaded when they are forked, and what is left out of their garbage collections."""

from __future__ import annotations

import subprocess
import sys

import pytest

_TASKS = """
import gc, importlib
from millstream.spark.worker_daemon import run_task

def load(name):
    importlib.import_module(name)
    return 0

counts = []
for name in ("json.tool", "json.tool", "xml.dom.minidom"):
    assert run_task(load, name) == 0
    counts.append(gc.get_freeze_count())
print(*(later > earlier for earlier, later in zip([0, *counts], counts)))
"""


def test_objects_are_frozen_after_a_task_that_loaded_modules() -> None:
    run = subprocess.run([sys.executable, "-c", _TASKS], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False", "True"]


_PAGE_FAULTS = """
import resource, numpy
from millstream.spark.worker_daemon import keep_freed_memory

assert keep_freed_memory()
faults = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        [numpy.ones(4 << 20, numpy.uint8) for _ in range(4)]
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(faults[-1])
"""


def test_freed_memory_is_kept() -> None:
    run = subprocess.run([sys.executable, "-c", _PAGE_FAULTS], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 1000  # 16 MB are 4096 pages


_FORK = """
import os, pkgutil, sys
from pathlib import Path
from millstream.spark.worker_daemon import preload

preload()
import polars, millstream.kernels

threads = {(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
print("threads", *sorted(threads - {Path("/proc/self/comm").read_text().strip()}))
missing = [
    name
    for _, name, _ in pkgutil.iter_modules(millstream.kernels.__path__, "millstream.kernels.")
    if name not in sys.modules
]
print("missing", *missing)
sys.stdout.flush()
for _ in range(3):
    child = os.fork()
    if not child:
        rows = polars.DataFrame({"key": [n % 1000 for n in range(200_000)]}).lazy()
        counted = rows.group_by("key").agg(polars.len()).sort("key").collect()
        os._exit(0 if counted["len"].to_list() == [200] * 1000 else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_can_be_forked_from_what_is_preloaded() -> None:
    """A fork carries no thread over: those that exist must be known to be no loss to a worker."""
    run = subprocess.run([sys.executable, "-c", _FORK], capture_output=True, text=True, check=True, timeout=60)
    threads, missing = run.stdout.splitlines()
    assert set(threads.split()[1:]) <= {"jemalloc_bg_thd", "polars-ooc-clea"}
    assert missing.split()[1:] == []
