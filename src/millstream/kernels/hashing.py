"""XXH64 of rows, as Spark's `xxhash64` computes it: stable over versions, and the same on every machine.

A row's columns are hashed one after the other, each with the hash of those before it as its seed; NULL leaves the hash
as it is. Numbers are hashed a column at a time, texts by their n-th 32 bytes at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

_SEED: Final = 42
_P1: Final = np.uint64(0x9E3779B185EBCA87)
_P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_P3: Final = np.uint64(0x165667B19E3779F9)
_P4: Final = np.uint64(0x85EBCA77C2B2AE63)
_P5: Final = np.uint64(0x27D4EB2F165667C5)
_STRIPE: Final = 32
_WORD: Final = 8
_HALF_WORD: Final = 4
_SAMPLE: Final = 512
"""So many texts show whether they repeat."""
_LONG_DIGITS: Final = 18
"""A decimal of so many digits is hashed as a long."""


def hash_rows(columns: Iterable[pa.ChunkedArray | pa.Array], rows: int) -> pa.Array:
    """One hash per row, as INT64; without columns, all are zero."""
    hashes: Hashes | None = None
    for column in columns:
        array = _one_chunk(column)
        if hashes is not None:
            hashes = _hash_column(array, hashes)
        elif _repeats_few_texts(array):
            hashes = _hash_distinct(array)
        else:
            hashes = _hash_column(array, np.full(rows, _SEED, dtype=np.uint64))
    return pa.array(np.zeros(rows, np.int64) if hashes is None else hashes.view(np.int64))


def _repeats_few_texts(column: pa.Array) -> bool:
    if not pa.types.is_string(column.type) or len(column) < _SAMPLE:
        return False
    distinct: int = pc.count_distinct(column.slice(0, _SAMPLE)).as_py()
    return 0 < distinct < _SAMPLE // 8


def _hash_distinct(column: pa.Array) -> Hashes:
    """Each text once, in the first column of a row: its seed is the same everywhere."""
    encoded = column.dictionary_encode()
    texts = encoded.dictionary
    hashes = np.append(_hash_values(texts, np.full(len(texts), _SEED, dtype=np.uint64)), np.uint64(_SEED))
    places: NDArray[np.int32] = encoded.indices.fill_null(len(texts)).to_numpy()
    return hashes[places]


def _hash_column(column: pa.Array, seeds: Hashes) -> Hashes:
    if column.null_count == len(column):
        return seeds
    if column.null_count == 0:
        return _hash_values(column, seeds)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    hashes = seeds.copy()
    hashes[present] = _hash_values(column.drop_null(), seeds[present])
    return hashes


def _hash_values(values: pa.Array, seeds: Hashes) -> Hashes:
    """None of the values is NULL."""
    type_ = values.type
    if pa.types.is_boolean(type_):
        return _hash_ints(values.cast(pa.int32()).to_numpy(), seeds)
    if pa.types.is_int64(type_) or pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return _hash_longs(values.view(pa.int64()).to_numpy(), seeds)
    if pa.types.is_integer(type_):
        return _hash_ints(values.cast(pa.int32()).to_numpy(), seeds)
    if pa.types.is_date32(type_) or pa.types.is_time32(type_):
        return _hash_ints(values.view(pa.int32()).to_numpy(), seeds)
    if pa.types.is_floating(type_):
        return _hash_floats(values, seeds)
    if pa.types.is_decimal(type_):
        return _hash_decimals(values, seeds)
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return _hash_bytes(values, seeds)
    if pa.types.is_struct(type_):
        for field in values.flatten():
            seeds = _hash_column(field, seeds)
        return seeds
    if pa.types.is_map(type_):
        offsets = values.offsets.to_numpy()
        return _hash_lists(values.items, offsets, _hash_lists(values.keys, offsets, seeds))
    if pa.types.is_list(type_):
        return _hash_lists(values.values, values.offsets.to_numpy(), seeds)
    raise AssertionError(f"no hash of {type_}")


def _hash_lists(elements: pa.Array, offsets: NDArray[np.int32], seeds: Hashes) -> Hashes:
    """The elements of a list one after the other, those in the same place of all lists at a time."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = seeds.copy()
    for place in range(int(lengths.max(initial=0))):
        [rows] = np.nonzero(lengths > place)
        hashes[rows] = _hash_column(elements.take(pa.array(starts[rows] + place)), hashes[rows])
    return hashes


def _hash_floats(values: pa.Array, seeds: Hashes) -> Hashes:
    """Minus zero is zero, and all that are not a number are one."""
    numbers = values.to_numpy() + 0.0 if values.type == pa.float64() else values.to_numpy() + np.float32(0)
    numbers[np.isnan(numbers)] = np.nan
    if numbers.dtype == np.float64:
        return _hash_longs(numbers.view(np.int64), seeds)
    return _hash_ints(numbers.view(np.int32), seeds)


def _hash_decimals(values: pa.Array, seeds: Hashes) -> Hashes:
    words = np.frombuffer(values.buffers()[1], dtype=np.int64).reshape(-1, 2)[
        values.offset : values.offset + len(values)
    ]
    if values.type.precision <= _LONG_DIGITS:
        return _hash_longs(np.ascontiguousarray(words[:, 0]), seeds)
    pairs = zip(words[:, 0].tolist(), words[:, 1].tolist(), strict=True)
    whole = [_to_bytes((high << 64) | (low & (1 << 64) - 1)) for low, high in pairs]
    return _hash_bytes(pa.array(whole, pa.binary()), seeds)


def _to_bytes(number: int) -> bytes:
    """The shortest big-endian two's complement, as of Java's BigInteger."""
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _hash_ints(values: NDArray[np.int32], seeds: Hashes) -> Hashes:
    hashes = seeds + _P5 + np.uint64(_HALF_WORD)
    hashes ^= values.view(np.uint32).astype(np.uint64) * _P1
    return _mix(_rotate(hashes, 23) * _P2 + _P3)


def _hash_longs(values: NDArray[np.int64], seeds: Hashes) -> Hashes:
    return _mix(_add_word(seeds + _P5 + np.uint64(_WORD), values.view(np.uint64)))


def _hash_bytes(values: pa.Array, seeds: Hashes) -> Hashes:
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    content = np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets)
    hashes = seeds + _P5
    [long] = np.nonzero(lengths >= _STRIPE)
    if len(long):
        hashes[long] = _hash_stripes(content, starts[long], lengths[long] // _STRIPE, seeds[long])
    hashes += lengths.astype(np.uint64)
    tails = lengths % _STRIPE
    for tail in np.unique(tails):
        [rows] = np.nonzero(tails == tail)
        places = (starts[rows] + lengths[rows] - tail)[:, np.newaxis] + np.arange(tail)
        hashes[rows] = _hash_tail(content[places], int(tail), hashes[rows])
    return _mix(hashes)


def _hash_tail(content: NDArray[np.uint8], length: int, hashes: Hashes) -> Hashes:
    """`content` has a row of bytes for each value: what is left behind its last whole stripe."""
    at = 0
    while length - at >= _WORD:
        hashes = _add_word(hashes, _numbers(content[:, at : at + _WORD], np.uint64))
        at += _WORD
    if length - at >= _HALF_WORD:
        hashes = hashes ^ _numbers(content[:, at : at + _HALF_WORD], np.uint32).astype(np.uint64) * _P1
        hashes = _rotate(hashes, 23) * _P2 + _P3
        at += _HALF_WORD
    for place in range(at, length):
        hashes = _rotate(hashes ^ content[:, place].astype(np.uint64) * _P5, 11) * _P1
    return hashes


def _hash_stripes(
    content: NDArray[np.uint8], starts: NDArray[np.int64], counts: NDArray[np.int32], seeds: Hashes
) -> Hashes:
    """The values' n-th stripes of 32 bytes at a time; the longest values first, so that those left are a prefix."""
    order = np.argsort(-counts, kind="stable")
    ends = np.searchsorted(-counts[order], -np.arange(1, int(counts.max()) + 1), side="right")
    lanes = np.stack([seeds + _P1 + _P2, seeds + _P2, seeds, seeds - _P1], axis=1)[order]
    begins = starts[order]
    for stripe, end in enumerate(ends):
        places = (begins[:end] + stripe * _STRIPE)[:, np.newaxis] + np.arange(_STRIPE)
        words = content[places].view(np.dtype(np.uint64).newbyteorder("<"))
        lanes[:end] = _rotate(lanes[:end] + words * _P2, 31) * _P1
    hashes = _rotate(lanes[:, 0], 1) + _rotate(lanes[:, 1], 7) + _rotate(lanes[:, 2], 12) + _rotate(lanes[:, 3], 18)
    for lane in range(lanes.shape[1]):
        hashes = (hashes ^ _rotate(lanes[:, lane] * _P2, 31) * _P1) * _P1 + _P4
    found = np.empty_like(hashes)
    found[order] = hashes
    return found


def _numbers(content: NDArray[np.uint8], type_: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """The bytes of each row as a little-endian number."""
    numbers: NDArray[Any] = np.ascontiguousarray(content).view(np.dtype(type_).newbyteorder("<"))[:, 0]
    return numbers


def _add_word(hashes: Hashes, words: NDArray[np.uint64]) -> Hashes:
    return _rotate(hashes ^ _rotate(words * _P2, 31) * _P1, 27) * _P1 + _P4


def _mix(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ hashes >> np.uint64(33)) * _P2
    hashes = (hashes ^ hashes >> np.uint64(29)) * _P3
    return hashes ^ hashes >> np.uint64(32)


def _rotate(words: Hashes, bits: int) -> Hashes:
    return words << np.uint64(bits) | words >> np.uint64(64 - bits)


def _one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return (
        pc.take(column, pa.array(np.arange(len(column))))
        if column.offset and pa.types.is_nested(column.type)
        else column
    )
