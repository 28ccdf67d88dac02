"""A column of scalars as JSON text, by vector operations; only odd values are written one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats import java_text
from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.formats.json_text import escaped_for_bytes, quoted
from millstream.sql.types import NUMERIC, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_FIRST_PLAIN_DAY: Final = java_text.days_since_epoch(0, 1, 1)
_LAST_PLAIN_DAY: Final = java_text.days_since_epoch(9999, 12, 31)
_SEPARATOR_AT: Final = len("2024-01-02")
_SUPPLEMENTARY_LEAD_BYTE: Final = 0xF0


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a column, NULL where it is NULL; each is still to be put between `before` and `after`."""

    array: pa.Array
    before: str = ""
    after: str = ""

    def complete(self) -> pa.Array:
        if not self.before and not self.after:
            return self.array
        return pc.binary_join_element_wise(self.before, self.array, self.after, "")


def scalar_texts(array: pa.Array, type_: DataType, options: JsonOptions) -> Texts:
    if type_.root is TypeRoot.BOOLEAN or type_.root in NUMERIC:
        return Texts(_bare(array, type_, options))
    return Texts(_unquoted(array, type_, options), '"', 'Z"' if type_.root is TypeRoot.TIMESTAMP_LTZ else '"')


def _bare(array: pa.Array, type_: DataType, options: JsonOptions) -> pa.Array:
    match type_.root:
        case TypeRoot.FLOAT:
            return _floating(array, java_text.float_text)
        case TypeRoot.DOUBLE:
            return _floating(array, java_text.double_text)
        case TypeRoot.DECIMAL:
            return _decimals(array, plain=options.decimal_as_plain_number)
        case _:
            return array.cast(pa.string())


def _unquoted(array: pa.Array, type_: DataType, options: JsonOptions) -> pa.Array:
    match type_.root:
        case TypeRoot.BYTES:
            return pl.Series(array, dtype=pl.Binary).bin.encode("base64").to_arrow().cast(pa.string())
        case TypeRoot.DATE:
            return _dates(array)
        case TypeRoot.TIME:
            # Flink drops the fraction, whatever the precision.
            return array.cast(pa.time32("s"), safe=False).cast(pa.string())
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return _timestamps(array.cast(pa.timestamp("us")), options.timestamp_standard)
        case _:
            return escaped(array)


def escaped(texts: pa.Array) -> pa.Array:
    if not len(texts) or texts.buffers()[2] is None:
        return texts
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    data = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    special = (data < ord(" ")) | (data == ord('"')) | (data == ord("\\")) | (data >= _SUPPLEMENTARY_LEAD_BYTE)
    at = np.flatnonzero(special)
    if not len(at):
        return texts
    odd = np.zeros(len(texts), np.bool_)
    odd[np.searchsorted(offsets[1:], at + offsets[0], side="right")] = True
    return _replaced(texts, odd & _valid(texts), texts, escaped_for_bytes)


def _floating(array: pa.Array, text_of: Callable[[float], str]) -> pa.Array:
    texts = pl.Series(array).cast(pl.String).to_arrow().cast(pa.string())
    size = np.abs(_numbers(array))
    odd = ~(((size >= 1e-3) & (size < 1e7)) | (size == 0))  # noqa: PLR2004

    def write(value: float) -> str:
        return text_of(value) if np.isfinite(value) else quoted(text_of(value))

    return _replaced(texts, odd & _valid(array), array, write)


def _decimals(array: pa.Array, *, plain: bool) -> pa.Array:
    texts = array.cast(pa.string())
    if plain:
        odd = pc.match_substring(texts, "E")
        return _replaced(texts, _mask(odd), array, lambda value: format(value, "f"))
    tens = r"E|[0-9]0\.0+$" if array.type.scale else "[0-9]0$"
    odd = _mask(pc.match_substring_regex(texts, tens))
    if array.type.scale:
        texts = pc.ascii_rtrim(pc.ascii_rtrim(texts, characters="0"), characters=".")
    return _replaced(texts, odd, array, java_text.stripped_decimal_text)


def _dates(array: pa.Array) -> pa.Array:
    days = array.cast(pa.int32())
    return _replaced(array.cast(pa.string()), _far(_numbers(days)), days, java_text.date_text)


def _timestamps(array: pa.Array, standard: TimestampStandard) -> pa.Array:
    separator = " " if standard is TimestampStandard.SQL else "T"
    micros = array.cast(pa.int64())
    numbers = _numbers(micros)
    unit = _coarsest_unit(numbers)
    texts = array.cast(pa.timestamp(unit)).cast(pa.string())
    if unit != "s":
        texts = pc.ascii_rtrim(pc.ascii_rtrim(texts, characters="0"), characters=".")
    if separator != " ":
        texts = pc.binary_replace_slice(texts, _SEPARATOR_AT, _SEPARATOR_AT + 1, separator)
    far = _far(numbers // java_text.MICROS_PER_DAY)
    return _replaced(texts, far, micros, lambda value: java_text.timestamp_text(value, separator))


def _coarsest_unit(micros: NDArray[np.int64]) -> str:
    if not (micros % 1000).any():
        return "ms" if (micros % 1_000_000).any() else "s"
    return "us"


def _far(days: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (days < _FIRST_PLAIN_DAY) | (days > _LAST_PLAIN_DAY)


def _numbers(array: pa.Array) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = pc.fill_null(array, 0).to_numpy()
    return numbers


def _valid(array: pa.Array) -> NDArray[np.bool_]:
    return _mask(array.is_valid())


def _mask(booleans: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.fill_null(booleans, False).to_numpy(zero_copy_only=False)
    return mask


def _replaced(texts: pa.Array, odd: NDArray[np.bool_], values: pa.Array, write: Callable[[Any], str]) -> pa.Array:
    """The texts, with those of the odd values written one by one."""
    if not odd.any():
        return texts
    mask = pa.array(odd)
    written = pa.array([write(value) for value in values.filter(mask).to_pylist()], pa.string())
    return pc.replace_with_mask(texts, mask, written)
