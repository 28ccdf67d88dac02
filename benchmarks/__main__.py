"""`make bench`: runs all benchmarks, or the given ones: `python -m benchmarks pageviews`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

BENCHMARKS: Final = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
ONLY_WHEN_NAMED: Final = ("beside_flink",)
"""It downloads another engine."""


def main() -> None:
    wanted = sys.argv[1:] or [name for name in BENCHMARKS if name not in ONLY_WHEN_NAMED]
    for name in wanted:
        if name not in BENCHMARKS:
            sys.exit(f"there is no benchmark {name}; there are {', '.join(BENCHMARKS)}")
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
