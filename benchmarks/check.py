"""The time of `millstream check`, including its process: `python -m benchmarks check`.

On each example of the source documents, and on a script of more than 200 lines.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

EXAMPLES: Final = sorted((Path(__file__).parents[1] / "tests/unit/sql/examples").glob("*.sql"))
COMMAND: Final = [sys.executable, "-m", "millstream.cli.main", "check"]
_ROUNDS: Final = 5
_TABLES: Final = 12
_TABLE: Final = """
CREATE TABLE orders_{n} (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  placed TIMESTAMP(3),
  paid AS amount * 2,
  WATERMARK FOR placed AS placed - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders-{n}',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json',
  'json.ignore-parse-errors' = 'true',
  'scan.startup.mode' = 'earliest-offset'
);
SELECT customer, UPPER(customer), COUNT(*), SUM(amount), MAX(placed)
FROM orders_{n}
WHERE amount > {n} AND EXTRACT(HOUR FROM placed) BETWEEN 8 AND 18
GROUP BY customer, UPPER(customer);
"""


# An installed program has its bytecode; a build machine may not allow writing it.
_ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def check_seconds(script: Path) -> float:
    begin = perf_counter()
    subprocess.run([*COMMAND, str(script)], env=_ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - begin


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder) / "long.sql"
        long.write_text("".join(_TABLE.format(n=number) for number in range(_TABLES)))
        for script in (*EXAMPLES, long):
            check_seconds(script)
            best = min(check_seconds(script) for _ in range(_ROUNDS))
            lines = len(script.read_text().splitlines())
            print(f"check of {script.name:32} {lines:4} lines  {best:5.2f} s")


if __name__ == "__main__":
    main()
