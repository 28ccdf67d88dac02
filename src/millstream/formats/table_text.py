"""Formats rows as an aligned table."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.changelog import RowKind
from millstream.display_width import display_width
from millstream.formats.client_text import CLIENT
from millstream.formats.row_text import column_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NULL: Final = "<NULL>"
_MORE: Final = "…"
_MAX_WIDTH: Final = 40
_KIND_HEADER: Final = "op"
_CONTROL: Final = ("Cc", "Zl", "Zp")


@dataclass(frozen=True, slots=True)
class TableColumn:
    header: str
    width: int
    is_number: bool


def table_lines(rows: pa.Table, kinds: Sequence[int] | None = None, *, max_width: int = _MAX_WIDTH) -> list[str]:
    """A whole table: header, rows and the lines around them.

    >>> table_lines(pa.table({"id": [1], "name": ["a"]}), [0])
    ['+----+----+------+', '| op | id | name |', '+----+----+------+', '| +I |  1 | a    |', '+----+----+------+']
    """
    cells = cells_of(rows, kinds)
    columns = columns_of(rows, cells, with_kinds=kinds is not None, max_width=max_width)
    edge = edge_line(columns)
    return [edge, header_line(columns), edge, *body_lines(columns, cells), *([edge] if cells else [])]


def columns_of(
    rows: pa.Table, cells: Iterable[Sequence[str]], *, with_kinds: bool, max_width: int = _MAX_WIDTH
) -> tuple[TableColumn, ...]:
    """As wide as the widest of these cells; reused for later rows of the same table."""
    headers = [*([_KIND_HEADER] if with_kinds else []), *(printable(name) for name in rows.column_names)]
    numbers = [*([False] if with_kinds else []), *(_is_number(field.type) for field in rows.schema)]
    widths = [display_width(header) for header in headers]
    for row in cells:
        widths = [max(width, display_width(cell)) for width, cell in zip(widths, row, strict=True)]
    return tuple(
        TableColumn(header, min(width, max_width), is_number)
        for header, width, is_number in zip(headers, widths, numbers, strict=True)
    )


def cells_of(rows: pa.Table, kinds: Sequence[int] | None = None) -> list[tuple[str, ...]]:
    """The text of each value on one line, preceded by the row kind if there are kinds."""
    columns: list[list[str]] = [] if kinds is None else [[RowKind(kind).symbol for kind in kinds]]
    columns += ([_NULL if text is None else printable(text) for text in column_texts(c, CLIENT)] for c in rows.columns)
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows


def edge_line(columns: Sequence[TableColumn]) -> str:
    return f"+{'+'.join('-' * (column.width + 2) for column in columns)}+"


def header_line(columns: Sequence[TableColumn]) -> str:
    return _line(columns, [column.header for column in columns])


def body_lines(columns: Sequence[TableColumn], cells: Iterable[Sequence[str]]) -> list[str]:
    return [_line(columns, row) for row in cells]


def _line(columns: Sequence[TableColumn], texts: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(column, text) for column, text in zip(columns, texts, strict=True))} |"


def _cell(column: TableColumn, text: str) -> str:
    text = shorten(text, column.width)
    padding = " " * (column.width - display_width(text))
    return padding + text if column.is_number else text + padding


def printable(text: str) -> str:
    """On one line, whatever it contains."""
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character) in _CONTROL else character
        for character in text
    )


def shorten(text: str, width: int) -> str:
    if display_width(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += display_width(character)
        if used > width - 1:
            break
        kept += character
    return kept + _MORE


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))
