"""The time of an operator as it is kept between batches: once for all buckets, in a folder beside theirs."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from millstream.kernels.watermark import OperatorTime, SplitTime
from millstream.state.state_table import DEAD, HASH, StateTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from millstream.state.bucket import BucketState

FOLDER: Final = "time"
_CLOCK: Final = "clock"
_SPLITS: Final = "splits"
_NAME: Final = (pa.field("name", pa.string()),)
_VALUES: Final = {
    _CLOCK: (pa.field("now", pa.int64()), pa.field("watermark", pa.int64())),
    _SPLITS: (pa.field("highest", pa.int64()), pa.field("quiet_ms", pa.int64())),
}
_LOWEST: Final = np.array([np.iinfo(np.int64).min])
_HIGHEST: Final = np.array([np.iinfo(np.int64).max])


def load_time(state: BucketState) -> OperatorTime:
    splits = {name: SplitTime(*values) for name, *values in _rows(state, _SPLITS)}
    clock = next(_rows(state, _CLOCK), None)
    return OperatorTime(splits=splits) if clock is None else OperatorTime(clock[1], clock[2], splits)


def save_time(state: BucketState, time: OperatorTime) -> None:
    _put(state, _CLOCK, [(_CLOCK, time.now, time.watermark)])
    _put(state, _SPLITS, [(name, split.highest, split.quiet_ms) for name, split in time.splits.items()])


def _rows(state: BucketState, table: str) -> Iterator[Any]:
    found = _open(state, table).scan(_LOWEST, _HIGHEST).drop_columns(HASH)
    return iter([tuple(row.values()) for row in found.to_pylist()])


def _put(state: BucketState, table: str, rows: list[tuple[str, int | None, int | None]]) -> None:
    if not rows:
        return
    names, *values = zip(*rows, strict=True)
    hashes = pa.array([zlib.crc32(name.encode()) for name in names], pa.int64())
    columns = [pa.array(column, field.type) for column, field in zip(values, _VALUES[table], strict=True)]
    dead = pa.repeat(pa.scalar(value=False), len(rows))
    named = [HASH, *(field.name for field in (*_NAME, *_VALUES[table])), DEAD]
    _open(state, table).put(pa.table([hashes, pa.array(names), *columns, dead], names=named))


def _open(state: BucketState, table: str) -> StateTable:
    return StateTable(_NAME, _VALUES[table], state.table(table))
