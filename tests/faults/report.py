"""`make faults`: ends a job at every failpoint, and writes what came of it into docs/reliability.md.

`python -m tests.faults.report append` runs the cases whose names begin so; the rows of the others stay as they are.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from millstream.failpoints import FAILPOINTS
from millstream.testing.broker import EmbeddedBroker
from tests.faults.crashes import PARTITIONS, Bench, Crash, Found
from tests.faults.test_exactly_once import CRASHES

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
_TABLE: Final = re.compile(r"(<!-- crashes: made by `make faults` -->\n).*?(<!-- end of crashes -->)", re.DOTALL)
_HEADINGS: Final = "| query | killed when | messages | missing | twice |\n|---|---|---|---|---|\n"


def row_of(crash: Crash, found: Found) -> str:
    place = f"{FAILPOINTS[crash.failpoint]} (`{crash.failpoint}:{crash.time}`)"
    return f"| {crash.shape.name} | {place} | {found.written} | {found.missing} | {found.twice} |"


def with_rows(page: str, rows: dict[str, str]) -> str:
    """The page with these rows by case, in the order of the cases; those of other cases as they were."""
    kept = {
        crash.name: line
        for line in page.splitlines()
        for crash in CRASHES
        if line.startswith(f"| {crash.shape.name} |") and f"`{crash.failpoint}:{crash.time}`" in line
    }
    lines = [found for crash in CRASHES if (found := rows.get(crash.name) or kept.get(crash.name))]
    body = _HEADINGS + "".join(line + "\n" for line in lines)
    return _TABLE.sub(lambda table: table[1] + body + table[2], page)


def main() -> None:
    chosen = [crash for crash in CRASHES if crash.name.startswith(tuple(sys.argv[1:]) or "")]
    lost = 0
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker(partitions=PARTITIONS) as broker:
        bench = Bench(broker.bootstrap, Path(folder))
        for crash in chosen:
            found = bench.survive(crash)
            lost += found.missing + found.twice
            print(f"{crash.name}: {found}", flush=True)
            PAGE.write_text(with_rows(PAGE.read_text(), {crash.name: row_of(crash, found)}))
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
