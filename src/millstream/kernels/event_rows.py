"""Rows with the time at which they happened, as joins by time know them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

TIME: Final = "__time"
"""When a row happened, in milliseconds since the epoch."""
NUMBER: Final = "__number"
"""Tells stored rows apart that are equal."""
FOR_EVER: Final = 0
"""The TTL of state that event time bounds: one that is shorter would lose rows that wait."""
MIN_TIME: Final = -(1 << 63)
LARGEST_TABLE: Final = 1 << 17
"""Rows in one table of changes."""


def milliseconds(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Since the epoch; a TIMESTAMP counts as if it were UTC."""
    floored = pc.floor_temporal(times, unit="millisecond")
    return floored.cast(pa.timestamp("ms", times.type.tz)).cast(pa.int64())


def has_null(rows: pa.Table, names: Sequence[str]) -> NDArray[np.bool_]:
    """Whether one of these columns is NULL, for each row."""
    found = np.zeros(rows.num_rows, dtype=bool)
    for name in names:
        if rows.column(name).null_count:
            found |= rows.column(name).is_null().to_numpy()
    return found


def inserts(rows: pl.DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows as +I; columns that they do not have are NULL."""
    if not rows.height:
        return
    missing = [pl.lit(None).alias(name) for name in schema.names if name != KIND and name not in rows.columns]
    rows = rows.with_columns(*missing, pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND))
    for part in rows.iter_slices(LARGEST_TABLE):
        yield to_arrow(part, schema)
