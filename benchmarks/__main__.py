"""Benchmarks of parts of Millstream: `python -m benchmarks formats`; without a name, all of them.

The comparison with other systems is `make bench`, `python -m benchmarks.comparison`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

BENCHMARKS: Final = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"there is no benchmark {name}; there are {', '.join(BENCHMARKS)}")
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
