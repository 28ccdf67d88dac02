"""What a worker has loaded is left out of the garbage collections between its tasks."""

from __future__ import annotations

import subprocess
import sys

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
