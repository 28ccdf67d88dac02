"""Converts columns of texts to columns of values, by vector operations.

Nothing here guesses: where Java's parsing is more lenient or merely different, UnsettledError leaves the batch to an
exact reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats import java_text
from millstream.formats.arrow_types import arrow_type
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, INTEGERS, DataType, TypeRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TIMESTAMP_LENGTH: Final = len("2024-01-02 03:04:05")
_TIME_LENGTH: Final = len("03:04:05")
_SEPARATOR_AT: Final = len("2024-01-02")
# Arrow looks up powers of ten by a number's scale, at most 38, unchecked: beyond that it reads out of bounds.
_UNCHECKED_SCALE: Final = r"\.[0-9]{39}"


def _bytes_in(characters: str) -> NDArray[np.bool_]:
    allowed = np.zeros(256, np.bool_)
    allowed[list(characters.encode())] = True
    return allowed


_OF_INTEGERS: Final = _bytes_in("0123456789-")
_OF_DECIMALS: Final = _bytes_in("0123456789-.")
_OF_FLOATS: Final = _bytes_in("0123456789-.eE")


class UnsettledError(Exception):
    """This batch contains something that only an exact reader can decide."""


def bounds(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Where each value starts and ends in the bytes of the array."""
    _, offset_buffer, data_buffer = texts.buffers()
    if offset_buffer is None or not len(texts):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8)
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, texts.offset * 4)
    data = np.empty(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return offsets[:-1], offsets[1:], data


def join(texts: pa.Array, separator: bytes) -> pa.Buffer:
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
    """Milliseconds of the day, in whole seconds as Flink reads them."""
    starts, ends, _ = bounds(array.drop_null())
    if not _at_least(ends - starts, _TIME_LENGTH):
        raise UnsettledError
    moments = pc.binary_join_element_wise("1970-01-01 ", array, "").cast(pa.timestamp("us"))
    seconds = moments.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    return pc.multiply(seconds, 1000).cast(pa.int32())


def base64_bytes(array: pa.Array) -> pa.Array:
    texts = pl.Series(array, dtype=pl.String)
    try:
        return texts.str.decode("base64", strict=True).to_arrow().cast(pa.binary())
    except pl.exceptions.PolarsError:
        raise UnsettledError from None


def _at_least(lengths: NDArray[np.int32], least: int) -> bool:
    return not len(lengths) or int(lengths.min()) >= least


def values_of(texts: pa.Array, type_: DataType) -> pa.Array:
    """Values in their plain form: 12, 1.5, true, 2024-01-02, 03:04:05, 2024-01-02 03:04:05."""
    match type_.root:
        case root if root in CHARACTER:
            return texts
        case root if root in BINARIES:
            return base64_bytes(texts)
        case root if root in INTEGERS:
            return _require_bytes_of(texts, _OF_INTEGERS).cast(arrow_type(type_))
        case root if root in APPROXIMATE:
            return _finite(_require_bytes_of(texts, _OF_FLOATS).cast(arrow_type(type_)))
        case TypeRoot.DECIMAL:
            return _decimals(_require_bytes_of(texts, _OF_DECIMALS), type_)
        case TypeRoot.BOOLEAN:
            return _booleans(texts)
        case TypeRoot.DATE:
            return _dates(texts)
        case TypeRoot.TIME:
            return times(texts)
        case _:
            return timestamps(texts, type_, " ")


def _require_bytes_of(texts: pa.Array, allowed: NDArray[np.bool_]) -> pa.Array:
    starts, ends, data = bounds(texts)
    if len(texts) and not allowed[data[starts[0] : ends[-1]]].all():
        raise UnsettledError
    return texts


def _decimals(texts: pa.Array, type_: DataType) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, _UNCHECKED_SCALE)).as_py():
        raise UnsettledError
    decimals = texts.cast(arrow_type(type_))
    decimals.validate(full=True)
    return decimals


def _finite(numbers: pa.Array) -> pa.Array:
    if not pc.all(pc.is_finite(numbers.drop_null())).as_py():
        raise UnsettledError
    return numbers


def _booleans(texts: pa.Array) -> pa.Array:
    true = pc.equal(texts, "true")
    if not pc.all(pc.or_(true, pc.equal(texts, "false"))).as_py():
        raise UnsettledError
    return true


def _dates(texts: pa.Array) -> pa.Array:
    starts, ends, data = bounds(texts.drop_null())
    if not (ends - starts == _SEPARATOR_AT).all() or not (data[starts + 4] == ord("-")).all():
        raise UnsettledError
    dates = texts.cast(pa.date32())
    days = pc.fill_null(dates.cast(pa.int32()), 0).to_numpy()
    if ((days >= java_text.GREGORIAN_CUTOVER_GAP.start) & (days < java_text.GREGORIAN_CUTOVER_GAP.stop)).any():
        raise UnsettledError
    return dates
