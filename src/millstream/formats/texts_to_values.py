"""Columns of texts as columns of values, by vector operations.

Nothing here guesses: where Java's reading is more lenient or merely different, UnsettledError leaves the
batch to an exact reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TIMESTAMP_LENGTH: Final = len("2024-01-02 03:04:05")
_TIME_LENGTH: Final = len("03:04:05")
_SEPARATOR_AT: Final = len("2024-01-02")


class UnsettledError(Exception):
    """This batch holds something that only an exact reader can judge."""


def bounds(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Where each value starts and ends in the bytes of the array."""
    _, offset_buffer, data_buffer = texts.buffers()
    if offset_buffer is None or not len(texts):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8)
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, texts.offset * 4)
    data = np.empty(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return offsets[:-1], offsets[1:], data


def joined(texts: pa.Array, separator: bytes) -> pa.Buffer:
    everything = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    return pc.binary_join(everything, separator)[0].as_buffer()


def timestamps(array: pa.Array, type_: DataType, separator: str) -> pa.Array:
    zoned = type_.root is TypeRoot.TIMESTAMP_LTZ
    texts = array.drop_null()
    starts, ends, data = bounds(texts)
    if not _at_least(ends - starts, _TIMESTAMP_LENGTH + zoned):
        raise UnsettledError
    if not (data[starts + _SEPARATOR_AT] == ord(separator)).all():
        raise UnsettledError
    if zoned and not (data[ends - 1] == ord("Z")).all():
        raise UnsettledError
    return array.cast(arrow_type(type_))


def times(array: pa.Array) -> pa.Array:
    """Cut to milliseconds, as Flink keeps them."""
    starts, ends, _ = bounds(array.drop_null())
    if not _at_least(ends - starts, _TIME_LENGTH):
        raise UnsettledError
    moments = pc.binary_join_element_wise("1970-01-01 ", array, "").cast(pa.timestamp("us"))
    millis = moments.cast(pa.timestamp("ms"), safe=False)
    return millis.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.time64("us"))


def base64_bytes(array: pa.Array) -> pa.Array:
    texts = pl.Series(array, dtype=pl.String)
    try:
        return texts.str.decode("base64", strict=True).to_arrow().cast(pa.binary())
    except pl.exceptions.PolarsError:
        raise UnsettledError from None


def _at_least(lengths: NDArray[np.int32], least: int) -> bool:
    return not len(lengths) or int(lengths.min()) >= least
