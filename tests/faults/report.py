"""`make faults`: ends jobs at every failpoint, restarts them, and writes the results into docs/reliability.md.

`python -m tests.faults.report at-least-once-append` runs only the cases whose names begin like this, and leaves the
other rows of the table unchanged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.testing.broker import EmbeddedBroker
from tests.faults.crash_table import Line, place_of, update_table
from tests.faults.crashes import CRASHES, PARTITIONS, Bench, Crash, Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.crash_table import Place

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.report", description=__doc__)
    parser.add_argument("prefixes", nargs="*", help="prefixes of the names of cases; all cases by default")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases to run in parallel")
    arguments = parser.parse_args()
    chosen = [crash for crash in CRASHES if crash.name.startswith(tuple(arguments.prefixes) or "")]
    sys.exit(0 if run(chosen, arguments.jobs) else 1)


def run(chosen: Sequence[Crash], jobs: int) -> bool:
    """Returns whether all kept what is promised. A row is written when the last of its cases has run."""
    started = time.monotonic()
    waiting: defaultdict[Place, int] = defaultdict(int)
    for crash in chosen:
        waiting[place_of(crash)] += 1
    runs: defaultdict[Place, list[Found | None]] = defaultdict(list)
    all_kept = True
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedBroker(partitions=PARTITIONS) as broker,
        ThreadPoolExecutor(jobs) as threads,
    ):
        bench = Bench(broker.bootstrap, Path(folder))
        cases = {threads.submit(bench.survive, crash): crash for crash in chosen}
        for count, case in enumerate(as_completed(cases), start=1):
            crash, error = cases[case], case.exception()
            found = None if error is not None else case.result()
            is_kept = found is not None and found.keeps(crash.guarantee)
            all_kept = all_kept and is_kept
            outcome = f"{'kept' if is_kept else 'NOT KEPT'}, {error or found}"
            print(f"{count} of {len(chosen)}, {time.monotonic() - started:.0f} s: {crash.name}: {outcome}", flush=True)
            place = place_of(crash)
            runs[place].append(found)
            if len(runs[place]) == waiting[place]:
                PAGE.write_text(update_table(PAGE.read_text(), [Line.of(crash, runs[place])]))
    return all_kept


if __name__ == "__main__":
    main()
