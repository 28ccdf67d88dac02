"""Formats rows for people: the lines of a print table, and what they share with the table of a SELECT."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import RowKind
from millstream.formats import java_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MICROS_PER_SECOND: Final = 1_000_000

Writers = tuple[tuple["Callable[[pa.DataType], bool]", "Callable[[Any], str]"], ...]
"""How values of a type are formatted; dates and times are numbers, and the first that fits applies."""


@dataclass(frozen=True, slots=True)
class ValueStyle:
    opens_row: str
    closes_row: str
    null: str
    """Inside a row, an array or a map."""
    writers: Writers
    has_local_time: bool = False
    """Whether an instant is shown in the session's time zone."""


def row_lines(rows: pa.Table, kinds: Sequence[int] | None = None, prefix: str = "") -> list[str]:
    """`+I[1, hello, null]` for each row; without kinds, all are inserts."""
    columns = [column_texts(column, JAVA) for column in rows.columns]
    symbols = [RowKind(kind).symbol for kind in kinds] if kinds is not None else ["+I"] * rows.num_rows
    values = zip(*columns, strict=True) if columns else ((),) * rows.num_rows
    texts = (", ".join(_or_null(row, JAVA.null)) for row in values)
    return [f"{prefix}{symbol}[{text}]" for symbol, text in zip(symbols, texts, strict=True)]


def column_texts(column: pa.Array | pa.ChunkedArray, style: ValueStyle) -> list[str | None]:
    """Each value as text, None for NULL."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [text for chunk in chunks for text in _array_texts(chunk, style)]


def _array_texts(array: pa.Array, style: ValueStyle) -> list[str | None]:
    type_ = array.type
    if pa.types.is_struct(type_):
        fields = [_array_texts(array.field(index), style) for index in range(type_.num_fields)]
        rows = zip(*fields, strict=True) if fields else ((),) * len(array)
        texts = [f"{style.opens_row}{', '.join(_or_null(row, style.null))}{style.closes_row}" for row in rows]
        return _where_valid(array, texts)
    if pa.types.is_map(type_):
        keys, items = (_or_null(_array_texts(part, style), style.null) for part in (array.keys, array.items))
        entries = [f"{key}={item}" for key, item in zip(keys, items, strict=True)]
        return _where_valid(array, [f"{{{', '.join(part)}}}" for part in _slices(array, entries)])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        texts = _or_null(_array_texts(array.values, style), style.null)
        return _where_valid(array, [f"[{', '.join(part)}]" for part in _slices(array, texts)])
    write = next((write for is_of, write in style.writers if is_of(type_)), str)
    return [None if value is None else write(value) for value in _plain(array, style).to_pylist()]


def _slices(array: Any, texts: list[str]) -> list[list[str]]:
    offsets = array.offsets.to_pylist()
    return [texts[start:end] for start, end in pairwise(offsets)]


def _where_valid(array: pa.Array, texts: list[str]) -> list[str | None]:
    return [text if valid else None for text, valid in zip(texts, array.is_valid().to_pylist(), strict=True)]


def _or_null(texts: Sequence[str | None], null: str) -> list[str]:
    return [null if text is None else text for text in texts]


def _plain(array: pa.Array, style: ValueStyle) -> pa.Array:
    """Dates and times as numbers: Python's own end with the year 9999."""
    if pa.types.is_date32(array.type):
        return array.cast(pa.int32())
    if pa.types.is_time(array.type):
        return array.cast(pa.time64("us")).cast(pa.int64())
    if pa.types.is_timestamp(array.type):
        local = pc.local_timestamp(array) if style.has_local_time and array.type.tz else array
        return local.cast(pa.timestamp("us", tz=local.type.tz)).cast(pa.int64())
    if pa.types.is_duration(array.type):
        return array.cast(pa.duration("us")).cast(pa.int64())
    return array


def _format_signed_bytes(value: bytes) -> str:
    return str([byte - 256 if byte > 127 else byte for byte in value])  # noqa: PLR2004


def _clock(micros: int, *, with_seconds: bool = False) -> str:
    """Seconds only if there are any, fractions in groups of three digits."""
    seconds, fraction = divmod(micros, _MICROS_PER_SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if with_seconds or seconds % 60 or fraction:
        text += f":{seconds % 60:02}"
    if fraction:
        text += f".{fraction:06}".removesuffix("000")
    return text


def _local_timestamp(micros: int) -> str:
    days, time = divmod(micros, java_text.MICROS_PER_DAY)
    return f"{java_text.date_text(days)}T{_clock(time)}"


def _instant(micros: int) -> str:
    days, time = divmod(micros, java_text.MICROS_PER_DAY)
    return f"{java_text.date_text(days)}T{_clock(time, with_seconds=True)}Z"


def _duration(micros: int) -> str:
    """Hours, minutes and seconds if there are any, each with the sign."""
    seconds, fraction = divmod(abs(micros), _MICROS_PER_SECOND)
    rest = f"{seconds % 60}" + f".{fraction:06}".rstrip("0").rstrip(".")
    parts = ((f"{seconds // 3600}", "H"), (f"{seconds // 60 % 60}", "M"), (rest, "S"))
    sign = "-" if micros < 0 else ""
    return "PT" + ("".join(f"{sign}{number}{unit}" for number, unit in parts if number != "0") or "0S")


_WRITERS: Final[Writers] = (
    (pa.types.is_boolean, lambda value: "true" if value else "false"),
    (pa.types.is_float32, java_text.float_text),
    (pa.types.is_float64, java_text.double_text),
    (pa.types.is_date32, java_text.date_text),
    (pa.types.is_time, _clock),
    (lambda type_: pa.types.is_timestamp(type_) and type_.tz is None, _local_timestamp),
    (pa.types.is_timestamp, _instant),
    (pa.types.is_duration, _duration),
    (pa.types.is_binary, _format_signed_bytes),
    (pa.types.is_large_binary, _format_signed_bytes),
    (pa.types.is_fixed_size_binary, _format_signed_bytes),
)
JAVA: Final = ValueStyle("+I[", "]", "null", _WRITERS)
"""As Java's `toString` formats it."""
