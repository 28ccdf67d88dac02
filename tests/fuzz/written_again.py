"""Writes decoded rows with the encoders of sinks: a row that was read is one that can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.formats.codecs import decoder_of, encoder_of
from millstream.formats.registry import FORMATS
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.flink_goldens import bind_format

if TYPE_CHECKING:
    from millstream.formats.decoded import Decoder, Encoder
    from millstream.sql.types import DataType

    Columns = tuple[tuple[str, DataType], ...]

_SINKS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("json", {}),
    ("csv", {}),
    ("avro", {"avro.encoding": "json", "avro.timestamp_mapping.legacy": "false"}),
)
_READ_AGAIN: Final = ("json", "avro")
"""In CSV, the text of a NULL need not be one of the column's type."""
_MOST_ROWS: Final = 100


class UnwritableError(Exception):
    """A row was read, and a sink cannot write it."""


class Sinks:
    """Sinks of several formats for the rows of one table."""

    def __init__(self, columns: str) -> None:
        self._sinks = [
            (format_, accepted, encoder_of(bound, accepted), decoder_of(bound, accepted, tuple(dict(accepted))))
            for format_, options in _SINKS
            if (accepted := _accepted(parse_columns(columns), format_))
            for bound in (bind_format(format_, options),)
        ]

    def write(self, rows: pa.Table) -> None:
        """Raises UnwritableError, or whatever an encoder raises."""
        rows = rows.slice(0, _MOST_ROWS)
        if not rows.num_rows:
            return
        for format_, columns, encoder, decoder in self._sinks:
            _write(rows.select([name for name, _ in columns]), format_, encoder, decoder)


def _write(rows: pa.Table, format_: str, encoder: Encoder, decoder: Decoder) -> None:
    try:
        messages = encoder.encode(rows)
        messages.cast(pa.string())
    except Exception as error:
        raise UnwritableError(f"{format_} {type(error).__name__}: {str(error)[:300]}") from error
    if len(messages) != rows.num_rows:
        raise UnwritableError(f"{format_}: {rows.num_rows} rows are {len(messages)} messages")
    if format_ in _READ_AGAIN and (wrong := decoder.decode(messages, sets_aside=True).unreadable):
        raise UnwritableError(f"{format_} message that is not read again: {wrong[0].text[:300]}")


def _accepted(columns: Columns, format_: str) -> Columns:
    return tuple((name, type_) for name, type_ in columns if FORMATS[format_].refuses(type_) is None)
