"""Encodes Arrow tables as Kafka values in the `csv` format, byte for byte as Flink does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.formats.csv_format import CsvOptions
from millstream.formats.values_to_texts import (
    SUPPLEMENTARY_LEAD_BYTE,
    base64_texts,
    date_texts,
    decimal_texts,
    float_texts,
    rows_with,
    time_texts,
    timestamp_texts,
)
from millstream.sql.types import APPROXIMATE, BINARIES, NUMERIC, DataType, TypeRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONGEST_CHECKED: Final = 24
"""Jackson quotes longer texts without examining them."""
_ONE_BYTE: Final = 0x80


class CsvEncoder:
    """Writes each row as one line without its end."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: CsvOptions = CsvOptions(),  # noqa: B008
    ) -> None:
        self._columns = columns
        self._options = options
        self._null = options.null_literal or ""
        self._first_safe = max(ord(options.delimiter), ord(options.quote or "\0")) + 1
        # Without an escape character, Jackson still quotes texts that contain a backslash.
        self._escape = options.escape or "\\"

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL."""
        fields = [
            self._field(table[name].combine_chunks().cast(arrow_type(type_)), type_) for name, type_ in self._columns
        ]
        if not fields:
            return pa.repeat(pa.scalar(b"", pa.binary()), table.num_rows)
        return pc.binary_join_element_wise(*fields, self._options.delimiter).cast(pa.binary())

    def _field(self, array: pa.Array, type_: DataType) -> pa.Array:
        bare = type_.root is TypeRoot.BOOLEAN or type_.root in NUMERIC
        texts = self._texts(array, type_)
        return pc.fill_null(texts if bare else self._quote(texts), self._null)

    def _texts(self, array: pa.Array, type_: DataType) -> pa.Array:
        match type_.root:
            case TypeRoot.ARRAY:
                assert type_.element is not None
                return self._join_elements(array, type_.element)
            case TypeRoot.ROW:
                fields = [
                    pc.fill_null(self._scalars(array.field(i), field.type), self._null)
                    for i, field in enumerate(type_.fields)
                ]
                texts = pc.binary_join_element_wise(*fields, self._options.element_delimiter)
                return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))
            case _:
                return self._scalars(array, type_)

    def _join_elements(self, array: pa.Array, element: DataType) -> pa.Array:
        offsets = array.offsets.to_numpy()
        elements = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        texts = pc.fill_null(self._scalars(elements, element), self._null)
        mask = array.is_null() if array.null_count else None
        lists = pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), texts, mask=mask)
        return pc.binary_join(lists, self._options.element_delimiter)

    def _scalars(self, array: pa.Array, type_: DataType) -> pa.Array:
        match type_.root:
            case root if root in APPROXIMATE:
                return float_texts(array)
            case root if root in BINARIES:
                return base64_texts(array)
            case TypeRoot.DECIMAL:
                return decimal_texts(array, plain=not self._options.scientific_decimals)
            case TypeRoot.DATE:
                return date_texts(array)
            case TypeRoot.TIME:
                return time_texts(array, fraction=True)
            case TypeRoot.TIMESTAMP:
                return timestamp_texts(array, " ")
            case TypeRoot.TIMESTAMP_LTZ:
                return pc.binary_join_element_wise(timestamp_texts(array.cast(pa.timestamp("us")), " "), "Z", "")
            case _:
                return array.cast(pa.string())

    def _quote(self, texts: pa.Array) -> pa.Array:
        quote = self._options.quote
        if quote is None:
            return texts
        needing = self._find_quoted(texts)
        if not needing.any():
            return texts
        escaped = texts
        if self._options.escape not in (None, quote):
            escaped = pc.replace_substring(escaped, self._escape, self._escape * 2)
        escaped = pc.replace_substring(escaped, quote, quote * 2)
        return pc.if_else(pa.array(needing), pc.binary_join_element_wise(quote, escaped, quote, ""), texts)

    def _find_quoted(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Jackson's loose rule: long, or with any character up to the delimiter or quote, or with an escape."""
        lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy()
        needing: NDArray[np.bool_] = lengths > _LONGEST_CHECKED
        if self._first_safe > _ONE_BYTE or ord(self._escape) >= _ONE_BYTE:
            judged = ~needing
        else:
            needing |= rows_with(texts, lambda data: (data < self._first_safe) | (data == ord(self._escape)))
            judged = rows_with(texts, lambda data: data >= SUPPLEMENTARY_LEAD_BYTE) & ~needing
        for i in np.flatnonzero(judged).tolist():
            needing[i] = self._needs_quotes(texts[i].as_py() or "")
        return needing

    def _needs_quotes(self, text: str) -> bool:
        units = len(text.encode("utf-16-le", "surrogatepass")) // 2
        return units > _LONGEST_CHECKED or any(
            ord(character) < self._first_safe or character == self._escape for character in text
        )
