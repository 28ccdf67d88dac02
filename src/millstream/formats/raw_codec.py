"""Kafka values in the `raw` format: the bytes of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_schema, arrow_type
from millstream.formats.decoded import Decoded, UnreadableMessages, preview
from millstream.formats.java_text import AS_JAVA, encodable
from millstream.formats.raw_format import FIXED_SIZES, Endianness, RawOptions
from millstream.formats.texts_to_values import bounds
from millstream.sql.types import CHARACTER, DataType, TypeRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UTF_8: Final = "utf-8"
_BIG_ENDIAN_IN_JAVA: Final = {"utf-16": (b"\xfe\xff", b"\xff\xfe"), "utf-32": (b"\0\0\xfe\xff", b"\xff\xfe\0\0")}
_DTYPES: Final = {
    TypeRoot.BOOLEAN: "u1",
    TypeRoot.TINYINT: "i1",
    TypeRoot.SMALLINT: "i2",
    TypeRoot.INT: "i4",
    TypeRoot.BIGINT: "i8",
    TypeRoot.FLOAT: "f4",
    TypeRoot.DOUBLE: "f8",
}


class RawDecoder:
    """Decodes each message to one row; a NULL message is a NULL. `needed` may exclude the column."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: RawOptions = RawOptions(),  # noqa: B008
        needed: tuple[str, ...] | None = None,
    ) -> None:
        ((name, self._type),) = columns
        self._options = options
        self._schema = arrow_schema(columns)
        self._needed = (name,) if needed is None else needed

    def decode(self, values: pa.Array, *, sets_aside: bool = False) -> Decoded:
        origin = None
        messages = values = values.cast(pa.binary())
        if self._options.line_delimiter is not None:
            values, origin = self._lines(values, self._options.line_delimiter)
        unreadable = UnreadableMessages(sets_aside=sets_aside)
        if (wrong := self._wrong_sizes(values, origin)).size:
            for index in wrong.tolist():
                unreadable.add(index, self._failure(messages[index].as_py()))
            origin = np.arange(len(values)) if origin is None else origin
            right = ~np.isin(origin, wrong)
            values, origin = values.filter(pa.array(right)), origin[right]
        table = pa.Table.from_arrays([self._column(values)], schema=self._schema)
        origins = None if origin is None else pa.array(origin)
        return Decoded(table.select(list(self._needed)), origins, unreadable=unreadable.all())

    def _wrong_sizes(self, values: pa.Array, origin: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The messages whose value has another size than the column."""
        size = FIXED_SIZES.get(self._type.root)
        if size is None:
            return np.empty(0, np.int64)
        wrong = np.flatnonzero(pc.fill_null(pc.not_equal(pc.binary_length(values), size), False))
        return wrong if origin is None else np.unique(origin[wrong])

    def _failure(self, message: bytes) -> str:
        size = FIXED_SIZES[self._type.root]
        reason = f"Size of data received for deserializing {self._type.root} type is not {size}."
        return f"{reason} It is '{preview(message)}'."

    def _lines(self, values: pa.Array, delimiter: str) -> tuple[pa.Array, NDArray[np.int64]]:
        lines: list[bytes] = []
        origin: list[int] = []
        for i, message in enumerate(values.to_pylist()):
            if message is None:
                continue
            parts = text_of(message, self._options.charset).split(delimiter)
            if not parts[-1]:
                parts.pop()
            lines += [bytes_of(part, self._options.charset) for part in parts]
            origin += [i] * len(parts)
        return pa.array(lines, pa.binary()), np.array(origin, np.int64)

    def _column(self, values: pa.Array) -> pa.Array:
        if self._type.root in FIXED_SIZES:
            return self._convert_fixed(values)
        if self._type.root in CHARACTER:
            return self._texts(values)
        return values

    def _texts(self, values: pa.Array) -> pa.Array:
        if self._options.charset == _UTF_8:
            try:
                return values.cast(pa.string())
            except pa.ArrowInvalid:
                pass
        charset = self._options.charset
        return pa.array(
            [None if value is None else text_of(value, charset) for value in values.to_pylist()], pa.string()
        )

    def _convert_fixed(self, values: pa.Array) -> pa.Array:
        present = values.drop_null()
        starts, ends, data = bounds(present)
        order = "<" if self._options.endianness is Endianness.LITTLE else ">"
        raw = data[starts[0] : ends[-1]] if len(present) else data
        numbers = pa.array(raw.view(f"{order}{_DTYPES[self._type.root]}").astype(_DTYPES[self._type.root]))
        if self._type.root is TypeRoot.BOOLEAN:
            numbers = pc.not_equal(numbers, 0)
        if len(present) == len(values):
            return numbers
        places = pc.subtract(pc.cumulative_sum(values.is_valid().cast(pa.int64())), 1)
        return numbers.take(pc.if_else(values.is_valid(), places, None))


class RawEncoder:
    """Writes the only column; a NULL is a message without value."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: RawOptions = RawOptions(),  # noqa: B008
    ) -> None:
        ((self._name, self._type),) = columns
        self._options = options

    def encode(self, table: pa.Table) -> pa.Array:
        array = table[self._name].combine_chunks().cast(arrow_type(self._type))
        values = self._values(array)
        if self._options.line_delimiter is None:
            return values
        end = bytes_of(self._options.line_delimiter, self._options.charset)
        return pc.binary_join_element_wise(values, pa.scalar(end, pa.binary()), pa.scalar(b"", pa.binary()))

    def _values(self, array: pa.Array) -> pa.Array:
        if self._type.root in FIXED_SIZES:
            return self._convert_fixed(array)
        if self._type.root not in CHARACTER or self._options.charset == _UTF_8:
            return array.cast(pa.binary())
        charset = self._options.charset
        return pa.array([None if text is None else bytes_of(text, charset) for text in array.to_pylist()], pa.binary())

    def _convert_fixed(self, array: pa.Array) -> pa.Array:
        order = "<" if self._options.endianness is Endianness.LITTLE else ">"
        numbers = pc.fill_null(array, False if self._type.root is TypeRoot.BOOLEAN else 0).to_numpy(
            zero_copy_only=False
        )
        raw = pa.py_buffer(numbers.astype(f"{order}{_DTYPES[self._type.root]}").tobytes())
        size = FIXED_SIZES[self._type.root]
        values = pa.Array.from_buffers(pa.binary(size), len(array), [None, raw]).cast(pa.binary())
        return pc.if_else(array.is_valid(), values, pa.scalar(None, pa.binary())) if array.null_count else values


def text_of(value: bytes, charset: str) -> str:
    """As Java decodes it: invalid sequences are replaced, and bytes without a byte order mark are big-endian."""
    if charset in _BIG_ENDIAN_IN_JAVA and not value.startswith(_BIG_ENDIAN_IN_JAVA[charset]):
        charset += "-be"
    return encodable(value.decode(charset, AS_JAVA if charset == _UTF_8 else "replace"))


def bytes_of(text: str, charset: str) -> bytes:
    if charset not in _BIG_ENDIAN_IN_JAVA:
        return text.encode(charset, "replace")
    mark = _BIG_ENDIAN_IN_JAVA[charset][0] if charset == "utf-16" else b""
    return mark + text.encode(f"{charset}-be", "replace")
