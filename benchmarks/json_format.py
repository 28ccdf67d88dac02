"""How fast the json format reads and writes: `python -m benchmarks.json_format [ROWS]`."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from millstream.formats.json_decode import JsonDecoder
from millstream.formats.json_encode import JsonEncoder
from millstream.formats.json_options import JsonOptions
from millstream.sql.types import BIGINT, STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS: Final = (
    ("user_id", BIGINT),
    ("page_id", BIGINT),
    ("viewtime", DataType(TypeRoot.TIMESTAMP, precision=3)),
    ("user_region", STRING),
)
USERS: Final = 2_000_000
_BATCH: Final = 10_000
_EXACT_SHARE: Final = 10


def page_views(rows: int, seed: int = 7) -> pa.Table:
    random = np.random.default_rng(seed)
    start = 1_704_164_645_000_000
    return pa.table(
        {
            "user_id": pa.array(random.integers(1, USERS, rows)),
            "page_id": pa.array(random.integers(1_000_000, 9_000_000, rows)),
            "viewtime": pa.array(start + np.arange(rows) * 1000).cast(pa.timestamp("us")),
            "user_region": pa.array([f"region_{i}" for i in random.integers(1, 10, rows)]),
        }
    )


def rate(work: Callable[[pa.Array | pa.Table], object], batches: list[pa.Array | pa.Table]) -> float:
    """Rows per second, the best of three rounds."""
    seconds = []
    for _ in range(3):
        begin = perf_counter()
        for batch in batches:
            work(batch)
        seconds.append(perf_counter() - begin)
    return sum(len(batch) for batch in batches) / min(seconds)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    options = JsonOptions()
    encoder, decoder, exact = (
        JsonEncoder(COLUMNS, options),
        JsonDecoder(COLUMNS, options),
        JsonDecoder(COLUMNS, options),
    )
    exact._exact_only = True  # noqa: SLF001
    tables = [page_views(_BATCH) for _ in range(rows // _BATCH)]
    messages = [encoder.encode(table) for table in tables]
    size = sum(batch.nbytes for batch in messages) / rows
    fast = rate(decoder.decode, messages)
    slow = rate(exact.decode, messages[: max(1, len(messages) // _EXACT_SHARE)])
    write = rate(encoder.encode, tables)
    print(f"{rows:,} messages of {size:.0f} bytes, {len(COLUMNS)} columns, one core")
    print(f"decode        {fast:>12,.0f} rows/s")
    print(f"decode, exact {slow:>12,.0f} rows/s  (fast / exact = {fast / slow:.1f})")
    print(f"encode        {write:>12,.0f} rows/s")


if __name__ == "__main__":
    main()
