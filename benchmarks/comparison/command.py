"""What `make bench` and its kin do: run workloads on several systems, keep the results and write a page.

Finished runs are kept: a comparison that was stopped continues where it was. With another results file, the page is
written beside that file.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.comparison.page import find_page, write_page
from benchmarks.comparison.results import Results, ResultsError, describe_machine, read_results
from benchmarks.comparison.session import Plan, run_plan
from benchmarks.harness.packages import MissingError
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.comparison.suite import Suite

_REPEATS: Final = 3


def run_suite(suite: Suite, module: str, names: str, rows: str) -> None:
    """`names` and `rows` are what this suite calls workloads, and how many rows there are."""
    arguments = _parse(suite, module, names, rows)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that no engine is left running
    if not Path("/proc/self/io").exists():
        sys.exit("the comparison reads core-seconds and memory from /proc, and so needs Linux")
    if arguments.fresh:
        arguments.results.unlink(missing_ok=True)
    failures: list[str] = []
    if not arguments.page_only:
        plan = Plan(
            [workload for workload in suite.workloads if workload.name in arguments.workloads],
            [system for system in suite.systems if system.name in arguments.systems],
            arguments.rows,
            arguments.repeats,
            arguments.kinds,
            suite.command,
        )
        try:
            failures = run_plan(plan, Results(arguments.results, describe_machine()))
        except (MissingError, ResultsError, MillstreamError) as error:
            sys.exit(str(error))
    page = find_page(suite, arguments.results)
    write_page(suite, page, *read_results(arguments.results))
    print(f"{page} is up to date")
    if failures:
        sys.exit("no figure for:\n" + "\n".join(failures))


def _parse(suite: Suite, module: str, names: str, rows: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=__doc__)
    workloads = [workload.name for workload in suite.workloads]
    parser.add_argument(f"--{names}", dest="workloads", type=_choice(workloads), default="")
    parser.add_argument("--systems", type=_choice([system.name for system in suite.systems]), default="")
    parser.add_argument("--kinds", type=_choice(list(suite.kinds)), default="")
    parser.add_argument(
        f"--{rows}",
        dest="rows",
        type=lambda text: int(text.replace("_", "")) if text else None,
        help="instead of each workload's own number",
    )
    parser.add_argument("--repeats", type=lambda text: int(text or _REPEATS), default=_REPEATS)
    parser.add_argument("--results", type=lambda text: Path(text or suite.results), default=suite.results)
    parser.add_argument("--fresh", action="store_true", help="forget the runs of the results file")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, write the page from the results")
    return parser.parse_args()


def _choice(names: list[str]) -> Callable[[str], list[str]]:
    """Names with commas or spaces between them; all if there is none."""

    def parse(text: str) -> list[str]:
        chosen = text.replace(",", " ").split() or names
        if unknown := sorted(set(chosen) - set(names)):
            raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(names)}")
        return chosen

    return parse
