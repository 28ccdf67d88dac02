"""Loaded by every Python that a test starts, as `tests` puts this folder on PYTHONPATH.

Spark starts a Python for each operator with state, and puts its zipped copy of pyspark first, which is compiled anew
in every process: a second of processor time each. The installed pyspark is the same, and is compiled already.
"""

import sys
from pathlib import PurePath

sys.path[:] = [
    entry for entry in sys.path if not (entry.endswith(".zip") and PurePath(entry).name.startswith(("pyspark", "py4j")))
]
