"""Formats a column of scalars as JSON text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.formats.json_text import escape_for_bytes, quote
from millstream.formats.values_to_texts import (
    SUPPLEMENTARY_LEAD_BYTE,
    base64_texts,
    date_texts,
    decimal_texts,
    float_texts,
    replace_odd,
    rows_with,
    time_texts,
    timestamp_texts,
)
from millstream.sql.types import BINARIES, INTERVALS, NUMERIC, DataType, TypeRoot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a column, NULL where it is NULL; each still has to be put between `before` and `after`."""

    array: pa.Array
    before: str = ""
    after: str = ""

    def complete(self) -> pa.Array:
        if not self.before and not self.after:
            return self.array
        return pc.binary_join_element_wise(self.before, self.array, self.after, "")


def scalar_texts(array: pa.Array, type_: DataType, options: JsonOptions) -> Texts:
    if type_.root is TypeRoot.BOOLEAN or type_.root in NUMERIC or type_.root in INTERVALS:
        return Texts(_bare(array, type_, options))
    return Texts(_unquote(array, type_, options), '"', 'Z"' if type_.root is TypeRoot.TIMESTAMP_LTZ else '"')


def _bare(array: pa.Array, type_: DataType, options: JsonOptions) -> pa.Array:
    match type_.root:
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return float_texts(array, lambda text: quote(text) if text[-1] in "Ny" else text)
        case TypeRoot.DECIMAL:
            return decimal_texts(array, plain=options.decimal_as_plain_number)
        case _:
            return array.cast(pa.string())


def _unquote(array: pa.Array, type_: DataType, options: JsonOptions) -> pa.Array:
    match type_.root:
        case root if root in BINARIES:
            return base64_texts(array)
        case TypeRoot.DATE:
            return date_texts(array)
        case TypeRoot.TIME:
            return time_texts(array, fraction=False)  # Flink drops it, whatever the precision
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            separator = " " if options.timestamp_standard is TimestampStandard.SQL else "T"
            return timestamp_texts(array.cast(pa.timestamp("us")), separator)
        case TypeRoot.NULL:
            return array.cast(pa.string())
        case _:
            return escape(array)


def escape(texts: pa.Array) -> pa.Array:
    return replace_odd(texts, rows_with(texts, _special), texts, escape_for_bytes)


def _special(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    special: NDArray[np.bool_] = (
        (data < ord(" ")) | (data == ord('"')) | (data == ord("\\")) | (data >= SUPPLEMENTARY_LEAD_BYTE)
    )
    return special
