"""Encodes Arrow tables as bare Avro data, byte for byte as Flink does, a column at a time.

Everything but the content of texts has at most a few bytes per value: such parts of all rows are a matrix of bytes, of
which each row keeps some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, INT, NESTED, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from numpy.typing import NDArray

    Mask: TypeAlias = NDArray[np.bool_]
    Parts: TypeAlias = "list[_Bytes | pa.Array]"

_MICROS_PER_MILLI: Final = 1000
_NULL_BRANCH, _VALUE_BRANCH = 0, 2
_GROUP: Final = 7
"""Bits of a number in each of its bytes."""
_DECIMAL_BYTES: Final = 16
_TIMESTAMPS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)


class AvroEncoder:
    """Writes each row by the schema that follows from the columns."""

    def __init__(self, columns: tuple[tuple[str, DataType], ...]) -> None:
        self._columns = columns

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL."""
        arrays = [table[name].combine_chunks().cast(arrow_type(type_)) for name, type_ in self._columns]
        return _encode_record(zip(arrays, (type_ for _, type_ in self._columns), strict=True), table.num_rows)


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A few bytes per row, some of which are kept."""

    content: NDArray[np.uint8]
    kept: Mask

    def to_array(self) -> pa.Array:
        return _binary(self.kept.sum(axis=1), self.content[self.kept])


def _encode_record(fields: Iterable[tuple[pa.Array, DataType]], rows: int) -> pa.Array:
    parts = [part for array, type_ in fields for part in _encode(array, type_)]
    return _join(parts) if parts else pa.repeat(pa.scalar(b"", pa.binary()), rows)


def _join(parts: Parts) -> pa.Array:
    """The parts of each row one after the other; neighbours of few bytes are put together first."""
    arrays: list[pa.Array] = []
    waiting: list[_Bytes] = []
    for part in [*parts, None]:
        if isinstance(part, _Bytes):
            waiting.append(part)
            continue
        if waiting:
            together = _Bytes(np.hstack([each.content for each in waiting]), np.hstack([each.kept for each in waiting]))
            arrays.append(together.to_array())
            waiting = []
        arrays += [] if part is None else [part]
    return arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, b"")


def _encode(array: pa.Array, type_: DataType) -> Parts:
    """Raises ValueError if a value is NULL that may not be."""
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if not type_.nullable:
        if array.null_count:
            raise ValueError("a value inside a column is NULL, and its type is NOT NULL")
        return _encode_values(array, type_)
    branch = np.where(is_null, np.uint8(_NULL_BRANCH), np.uint8(_VALUE_BRANCH)).reshape(-1, 1)
    parts = _encode_values(array, type_)
    if array.null_count:
        parts = [_drop(part, is_null) for part in parts]
    return [_Bytes(branch, np.ones_like(branch, np.bool_)), *parts]


def _drop(part: _Bytes | pa.Array, rows: Mask) -> _Bytes | pa.Array:
    if isinstance(part, _Bytes):
        return _Bytes(part.content, part.kept & ~rows[:, np.newaxis])
    return pc.if_else(pa.array(rows), pa.scalar(b"", part.type), part)


def _encode_values(array: pa.Array, type_: DataType) -> Parts:
    """Of NULLs, anything."""
    match type_.root:
        case TypeRoot.BOOLEAN:
            return [_fixed(pc.fill_null(array, fill_value=False).cast(pa.uint8()).to_numpy())]
        case root if root in APPROXIMATE:
            numbers = pc.fill_null(array, 0).to_numpy()
            return [_fixed(numbers.astype(numbers.dtype.newbyteorder("<"), copy=False))]
        case root if root in CHARACTER or root in BINARIES:
            return _encode_texts(pc.fill_null(array.cast(pa.binary()), b""))
        case TypeRoot.DECIMAL:
            return _encode_texts(_unscaled(array))
        case root if root in NESTED:
            return [_put_back(_join(_encode_nested(array.drop_null(), type_)), array)]
        case _:
            return [_numbers(_to_longs(array, type_))]


def _encode_nested(array: pa.Array, type_: DataType) -> Parts:
    """Of values none of which is NULL, though there may be NULLs inside."""
    if type_.root is TypeRoot.ROW:
        fields = zip(array.flatten(), (field.type for field in type_.fields), strict=True)
        return [_encode_record(fields, len(array))]
    element = INT if type_.root is TypeRoot.MULTISET else type_.element
    assert element is not None
    offsets = array.offsets.to_numpy()
    first, last = offsets[[0, -1]].tolist()
    if type_.root is TypeRoot.ARRAY:
        parts = _encode(array.values.slice(first, last - first), element)
    else:
        keys, items = (part.slice(first, last - first) for part in (array.keys, array.items))
        parts = [*_encode_texts(keys.cast(pa.binary())), *_encode(items, element)]
    return _encode_blocks(offsets - first, _join(parts))


def _encode_blocks(offsets: NDArray[np.int32], elements: pa.Array) -> Parts:
    """One block with all elements, unless there are none, and an empty one."""
    lengths = np.diff(offsets)
    counts = _numbers(lengths.astype(np.int64))
    counts.kept[lengths == 0] = False
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)
    return [counts, pc.binary_join(lists, b""), _fixed(np.zeros(len(lengths), np.uint8))]


def _put_back(written: pa.Array, array: pa.Array) -> pa.Array:
    """What was written of the values that are not NULL, in their places."""
    if not array.null_count:
        return written
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    return pc.fill_null(written.take(pa.array(np.cumsum(~is_null) - 1, mask=is_null)), b"")


def _encode_texts(texts: pa.Array) -> Parts:
    """The length, and the content."""
    return [_numbers(pc.binary_length(texts).to_numpy().astype(np.int64)), texts]


def _to_longs(array: pa.Array, type_: DataType) -> NDArray[np.int64]:
    if type_.root is TypeRoot.DATE:
        array = array.view(pa.int32())
    elif type_.root in _TIMESTAMPS:
        array = array.view(pa.int64())
    longs: NDArray[np.int64] = pc.fill_null(array, 0).to_numpy().astype(np.int64, copy=False)
    return longs // _MICROS_PER_MILLI if type_.root in _TIMESTAMPS else longs


def _numbers(values: NDArray[np.int64]) -> _Bytes:
    """Zigzag, then seven bits per byte, the lowest first; all bytes but the last have their highest bit set."""
    left = ((values << 1) ^ (values >> 63)).view(np.uint64)
    columns, kept = [], [np.ones(len(values), np.bool_)]
    while True:
        lowest = (left & np.uint64(0x7F)).astype(np.uint8)
        left = left >> np.uint64(_GROUP)
        more = left != 0
        columns.append(lowest | (more.astype(np.uint8) << _GROUP))
        if not more.any():
            return _Bytes(np.column_stack(columns), np.column_stack(kept))
        kept.append(more)


def _fixed(values: NDArray[np.generic]) -> _Bytes:
    content = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return _Bytes(content, np.ones(content.shape, np.bool_))


def _unscaled(array: pa.Array) -> pa.Array:
    """Decimals as big-endian integers, in as few bytes as two's complement needs, as in Java's BigInteger."""
    stored = array.buffers()[1] or b""
    content = np.frombuffer(stored, np.uint8)[array.offset * _DECIMAL_BYTES :][: len(array) * _DECIMAL_BYTES]
    numbers = content.reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    sign = (numbers[:, :1] >> _GROUP).astype(np.bool_)
    is_fill = (numbers[:, :-1] == np.where(sign, 0xFF, 0)) & ((numbers[:, 1:] >> _GROUP).astype(np.bool_) == sign)
    dropped = np.logical_and.accumulate(is_fill, axis=1).sum(axis=1)
    return _Bytes(numbers, np.arange(_DECIMAL_BYTES) >= dropped[:, np.newaxis]).to_array()


def _binary(lengths: NDArray[np.int64], content: NDArray[np.uint8]) -> pa.Array:
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())  # refuses more than they can count
    return pa.Array.from_buffers(pa.binary(), len(lengths), [None, offsets.buffers()[1], pa.py_buffer(content)])
