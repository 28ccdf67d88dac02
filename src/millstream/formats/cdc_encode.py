"""Encodes rows with their kinds as change messages, byte for byte as Flink does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import KIND, RowKind
from millstream.formats.cdc_dialect import Shape
from millstream.formats.json_encode import JsonEncoder

if TYPE_CHECKING:
    from millstream.formats.cdc_format import CdcJsonFormat
    from millstream.sql.types import DataType


class CdcJsonEncoder:
    """Writes each row as one message: +I and +U as an insert, -U and -D as a delete."""

    def __init__(self, columns: tuple[tuple[str, DataType], ...], format_: CdcJsonFormat) -> None:
        self._columns = columns
        self._format = format_
        self._rows = JsonEncoder(columns, format_.options.json)

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL. Without a column KIND every row is an insert."""
        rows = self._rows.encode(table)
        put_in = self._wrap(rows, puts_in=True)
        if KIND not in table.column_names:
            return put_in
        kinds = table[KIND].combine_chunks()
        inserting = pc.is_in(kinds, pa.array([RowKind.INSERT, RowKind.UPDATE_AFTER], kinds.type))
        return pc.if_else(inserting, put_in, self._wrap(rows, puts_in=False))

    def _wrap(self, rows: pa.Array, *, puts_in: bool) -> pa.Array:
        before, after = (pa.scalar(text.encode(), pa.binary()) for text in self._envelope(puts_in=puts_in))
        return pc.binary_join_element_wise(before, rows, after, pa.scalar(b"", pa.binary()))

    def _envelope(self, *, puts_in: bool) -> tuple[str, str]:
        dialect = self._format.dialect
        word = dialect.inserts_as if puts_in else dialect.deletes_as
        kind = f'"{dialect.kind_field}":"{word}"}}'
        match dialect.shape:
            case Shape.DATA_AND_OLD:
                return '{"data":', f",{kind}"
            case Shape.LISTS_OF_DATA_AND_OLD:
                return '{"data":[', f"],{kind}"
            case Shape.BEFORE_AND_AFTER if self._format.options.json.ignore_null_fields:
                return ('{"after":' if puts_in else '{"before":'), f",{kind}"
            case Shape.BEFORE_AND_AFTER if puts_in:
                return '{"before":null,"after":', f",{kind}"
            case _:
                return '{"before":', f',"after":null,{kind}'
