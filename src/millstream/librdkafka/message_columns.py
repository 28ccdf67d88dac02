"""Messages of librdkafka as columns: their fields are read and written by address, all of a column at once."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np
import pyarrow as pa

MESSAGE: Final = np.dtype(
    {
        "names": ["err", "rkt", "partition", "payload", "len", "key", "key_len", "offset", "_private"],
        "formats": ["i4", "u8", "i4", "u8", "u8", "u8", "u8", "i8", "u8"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 64],
        "itemsize": 72,
    }
)
"""`rd_kafka_message_t`, a public structure whose layout is part of librdkafka's interface."""
_WORD: Final = 8
_VIEW: Final = np.dtype([("length", "i4"), ("prefix", "V4"), ("buffer", "i4"), ("offset", "i4")])
_SHORT: Final = 12
"""Values up to this size are in the view itself."""
_REGION_BITS: Final = 30
_LARGEST_BUFFER: Final = (1 << 31) - 1


def read_messages(addresses: np.ndarray) -> np.ndarray:
    """Copies of messages anywhere in memory: of their structures, not of what these refer to."""
    first = int(addresses.min())
    words = (int(addresses.max()) - first) // _WORD + 1
    memory = _memory(first, (words - 1) * _WORD + MESSAGE.itemsize)
    at_each_word = np.ndarray((words,), f"V{MESSAGE.itemsize}", memory, strides=(_WORD,))
    copies: np.ndarray = at_each_word[(addresses - np.uint64(first)) // np.uint64(_WORD)].view(MESSAGE)
    return copies


def copy_values(addresses: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """The bytes at these addresses as one column; an address of 0 is NULL."""
    missing = addresses == 0
    if missing.all():
        return pa.nulls(len(addresses), pa.binary())
    validity = None
    if missing.any():
        validity = pa.array(~missing).buffers()[1]
        addresses = np.where(missing, addresses[~missing][0], addresses)
        lengths = np.where(missing, 0, lengths)
    regions, places = _find_regions(addresses, lengths)
    views = np.zeros(len(addresses), _VIEW)
    views["length"] = lengths
    views["buffer"] = places
    views["offset"] = addresses - np.array([start for start, _ in regions], np.uint64)[places]
    _inline_short_values(views, addresses, lengths)
    buffers = [validity, pa.py_buffer(views), *(pa.foreign_buffer(start, size) for start, size in regions)]
    return pa.Array.from_buffers(pa.binary_view(), len(addresses), buffers).cast(pa.binary())


def _find_regions(addresses: np.ndarray, lengths: np.ndarray) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Stretches of memory that a view can refer to, and the number of the one that each value is in."""
    first, end = int(addresses.min()), int((addresses + lengths.astype(np.uint64)).max())
    if end - first <= _LARGEST_BUFFER:
        return [(first, end - first)], np.zeros(len(addresses), np.int32)
    starts, places = np.unique(addresses >> np.uint64(_REGION_BITS), return_inverse=True)
    return [(int(start) << _REGION_BITS, _LARGEST_BUFFER) for start in starts], places.astype(np.int32)


def _inline_short_values(views: np.ndarray, addresses: np.ndarray, lengths: np.ndarray) -> None:
    """A short value is in its view, behind the length, with zeros up to the end."""
    short = np.flatnonzero(lengths <= _SHORT)
    if not len(short):
        return
    starts, sizes = addresses[short], lengths[short].astype(np.int64)
    first = int(starts.min())
    memory = _memory(first, int(starts.max()) - first + _SHORT)
    content = np.zeros((len(short), _SHORT), np.uint8)
    for place in range(int(sizes.max(initial=0))):
        has_byte = sizes > place
        content[has_byte, place] = memory[starts[has_byte] - np.uint64(first) + np.uint64(place)]
    views.view(np.uint8).reshape(len(views), _VIEW.itemsize)[short, 4:] = content


def _memory(start: int, size: int) -> np.ndarray:
    """Memory as numbers; only what belongs to a message may be touched."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))


def write_messages(keys: pa.Array | None, values: pa.Array, partitions: np.ndarray | None = None) -> np.ndarray:
    """Structures that refer to the columns' memory, which has to outlive them."""
    messages = np.zeros(len(values), MESSAGE)
    messages["payload"], messages["len"] = _find_values(values)
    if keys is not None:
        messages["key"], messages["key_len"] = _find_values(keys)
    if partitions is not None:
        messages["partition"] = partitions
    return messages


def _find_values(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The address and the length of each value; NULL is at 0."""
    _, offsets, content = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.uint64)
    start = np.uint64(content.address if content is not None and content.size else ctypes.addressof(_NOTHING))
    addresses = ends[:-1] + start
    if column.null_count:
        addresses[~np.asarray(column.is_valid())] = 0
    return addresses, np.diff(ends)


_NOTHING: Final = ctypes.create_string_buffer(1)
"""An empty value has an address, unlike NULL."""
