"""How a case of reading is judged: by the batch reader, by the exact reader, and among ordinary messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.changelog import RowKind
from millstream.formats.arrow_types import arrow_type
from millstream.formats.codecs import decoder_of
from millstream.formats.decoded import DecodeError
from millstream.formats.message_decoder import MessageDecoder
from millstream.sql.type_text import type_of_text

if TYPE_CHECKING:
    from millstream.formats.registry import Format
    from millstream.sql.types import DataType

    Columns = tuple[tuple[str, DataType], ...]


@dataclass(frozen=True, slots=True)
class Fails:
    """A message that is refused, with a part of what is said."""

    message: str = ""


SKIPPED: Final = Fails("skipped")
"""A message that is passed over without an error."""


def parse_columns(declared: str) -> Columns:
    """`v INT, w ARRAY<STRING NOT NULL>`"""
    row = type_of_text(f"ROW<{declared}>")
    return tuple((field.name, field.type) for field in row.fields)


def rows_read(
    format_: Format, columns: Columns, messages: list[bytes | None], *, exact_only: bool = False
) -> list[list[Any]] | Fails:
    """Each row with its kind first; values as they can be compared, whatever their type."""
    decoder = decoder_of(format_, columns, tuple(name for name, _ in columns))
    if exact_only and isinstance(decoder, MessageDecoder):
        decoder._exact_only = True
    try:
        decoded = decoder.decode(pa.array(messages, pa.binary()))
    except DecodeError as error:
        return Fails(error.text)
    decoded.table.validate(full=True)
    *arrays, kinds = decoded.with_kinds().columns
    rows = zip(*(array.to_pylist() for array in _plain(arrays)), strict=True)
    return [
        [RowKind(kind).symbol, *row]
        for kind, row in zip(kinds.to_pylist(), rows if arrays else ((),) * len(kinds), strict=True)
    ]


def plain(value: Any, type_: DataType) -> Any:
    """An expected value in the form in which rows are compared."""
    [array] = _plain([pa.chunked_array([pa.array([value], arrow_type(type_))])])
    return array.to_pylist()[0]


def _plain(arrays: list[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Moments as numbers: Python has no microsecond of the year 10000, and NaN as its text."""
    found = []
    for array in arrays:
        if pa.types.is_temporal(array.type):
            found.append(array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64()))
        elif pa.types.is_floating(array.type):
            found.append(pa.chunked_array([[None if v is None else repr(v) for v in array.to_pylist()]], pa.string()))
        else:
            found.append(array)
    return found


def check_read(
    format_: Format, columns: Columns, message: bytes, expected: list[list[Any]] | Fails, ordinary: bytes
) -> None:
    """`ordinary` is a message that every reader takes, put before and behind."""
    alone = [rows_read(format_, columns, [message], exact_only=exact) for exact in (False, True)]
    beside = rows_read(format_, columns, [ordinary])
    assert isinstance(beside, list)
    among = rows_read(format_, columns, [ordinary, None, message, ordinary])
    if isinstance(expected, Fails) and expected is not SKIPPED:
        assert all(isinstance(found, Fails) and expected.message in found.message for found in alone), alone
        assert alone[0] == alone[1] == among
        return
    rows = [] if isinstance(expected, Fails) else expected
    assert alone == [rows, rows]
    if beside:
        assert among == [*beside, *rows, *beside]
