"""The time of an operator as it is kept between batches: once for all buckets, in a folder beside theirs."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from millstream.kernels.watermark import OperatorTime, SplitTime
from millstream.state.state_table import DEAD, HASH, StateTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.bucket import BucketState

FOLDER: Final = "time"
_CLOCK: Final = "clock"
_SOURCES: Final = "sources"
_SPLITS: Final = "splits"
_NAME: Final = (pa.field("name", pa.string()),)
_VALUES: Final = {
    _CLOCK: (pa.field("now", pa.int64()), pa.field("watermark", pa.int64())),
    _SOURCES: (pa.field("watermark", pa.int64()),),
    _SPLITS: (pa.field("highest", pa.int64()), pa.field("quiet_ms", pa.int64()), pa.field("is_idle", pa.bool_())),
}
_LOWEST: Final = np.array([np.iinfo(np.int64).min])
_HIGHEST: Final = np.array([np.iinfo(np.int64).max])

Row: TypeAlias = tuple[Any, ...]
"""A name, and the values of its table."""


def load_time(state: BucketState) -> OperatorTime:
    splits = {name: SplitTime(*values) for name, *values in _rows(state, _SPLITS)}
    sources = {row[0]: row[1] for row in _rows(state, _SOURCES)}
    _, now, watermark = next(iter(_rows(state, _CLOCK)), (_CLOCK, None, None))
    return OperatorTime(now, watermark, sources, splits)


def save_time(state: BucketState, time: OperatorTime) -> None:
    _write(state, _CLOCK, [(_CLOCK, time.now, time.watermark)])
    _write(state, _SOURCES, list(time.sources.items()))
    splits = time.splits.items()
    _write(state, _SPLITS, [(name, split.highest, split.quiet_ms, split.is_idle) for name, split in splits])


def _rows(state: BucketState, table: str) -> list[Row]:
    found = _open(state, table).scan(_LOWEST, _HIGHEST).drop_columns(HASH)
    return [tuple(row.values()) for row in found.to_pylist()]


def _write(state: BucketState, table: str, rows: Sequence[Row]) -> None:
    """These rows in place of all that there were."""
    kept = {name for name, *_ in rows}
    nothing = [None] * len(_VALUES[table])
    gone = [(name, *nothing) for name, *_ in _rows(state, table) if name not in kept]
    if not rows and not gone:
        return
    names, *values = zip(*rows, *gone, strict=True)
    hashes = pa.array([zlib.crc32(name.encode()) for name in names], pa.int64())
    columns = [pa.array(column, field.type) for column, field in zip(values, _VALUES[table], strict=True)]
    dead = pa.array([name not in kept for name in names])
    named = [HASH, *(field.name for field in (*_NAME, *_VALUES[table])), DEAD]
    _open(state, table).put(pa.table([hashes, pa.array(names), *columns, dead], names=named))


def _open(state: BucketState, table: str) -> StateTable:
    return StateTable(_NAME, _VALUES[table], state.table(table))
