"""Rows of a small state table from number to number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from millstream.state.state_table import StateTable

KEY = (pa.field("key", pa.int64()),)
VALUE = (pa.field("value", pa.int64()),)
_INT64 = np.iinfo(np.int64)


def rows_to_put(written: Mapping[int, int | None], *, colliding: bool) -> pa.Table:
    """None is a row to be removed."""
    keys = list(written)
    return pa.table(
        {
            HASH: pa.array([key % 2 if colliding else key * 7919 for key in keys], pa.int64()),
            "key": pa.array(keys, pa.int64()),
            "value": pa.array(written.values(), pa.int64()),
            DEAD: pa.array([value is None for value in written.values()]),
        }
    )


def look_up(table: StateTable, keys: Iterable[int], *, colliding: bool) -> dict[int, int]:
    wanted = list(keys)
    found = table.lookup(rows_to_put(dict.fromkeys(wanted), colliding=colliding))
    values = found.values.column("value").to_pylist()
    return {key: value for key, value, there in zip(wanted, values, found.mask, strict=True) if there}


def scan(table: StateTable, low: int = _INT64.min, high: int = _INT64.max) -> dict[int, int]:
    rows = table.scan(np.array([low]), np.array([high]))
    return dict(zip(rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True))
