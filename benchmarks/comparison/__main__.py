"""`make bench`: runs workloads on several systems and writes docs/benchmarks.md.

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
from benchmarks.comparison.results import DEFAULT_FILE, Results, ResultsError, describe_machine, read_results
from benchmarks.comparison.session import Plan, run_plan
from benchmarks.comparison.systems import SYSTEMS
from benchmarks.comparison.workloads import WORKLOADS
from benchmarks.harness.packages import MissingError
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from collections.abc import Callable

_REPEATS: Final = 3


def main() -> None:
    arguments = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that no engine is left running
    if not Path("/proc/self/io").exists():
        sys.exit("the comparison reads core-seconds and memory from /proc, and so needs Linux")
    if arguments.fresh:
        arguments.results.unlink(missing_ok=True)
    if not arguments.page_only:
        plan = Plan(
            [workload for workload in WORKLOADS if workload.name in arguments.workloads],
            [system for system in SYSTEMS if system.name in arguments.systems],
            arguments.rows,
            arguments.repeats,
            arguments.kinds,
        )
        try:
            failures = run_plan(plan, Results(arguments.results, describe_machine()))
        except (MissingError, ResultsError, MillstreamError) as error:
            sys.exit(str(error))
    page = find_page(arguments.results)
    write_page(page, *read_results(arguments.results))
    print(f"{page} is up to date")
    if not arguments.page_only and failures:
        sys.exit("no figure for:\n" + "\n".join(failures))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=__doc__)
    parser.add_argument("--workloads", type=_choice([workload.name for workload in WORKLOADS]), default="")
    parser.add_argument("--systems", type=_choice([system.name for system in SYSTEMS]), default="")
    parser.add_argument("--kinds", type=_choice(["throughput", "latency"]), default="")
    parser.add_argument(
        "--rows",
        type=lambda text: int(text.replace("_", "")) if text else None,
        help="instead of each workload's own number",
    )
    parser.add_argument("--repeats", type=lambda text: int(text or _REPEATS), default=_REPEATS)
    parser.add_argument("--results", type=lambda text: Path(text or DEFAULT_FILE), default=DEFAULT_FILE)
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


if __name__ == "__main__":
    main()
