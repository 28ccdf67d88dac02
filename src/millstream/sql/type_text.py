"""Parses a type from text inside an expression."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from millstream.source import SourceText
from millstream.sql.cursor import TokenCursor
from millstream.sql.dialect import Flink
from millstream.sql.script import Script
from millstream.sql.type_parser import parse_type

if TYPE_CHECKING:
    from millstream.sql.types import DataType


@lru_cache(maxsize=1024)
def type_of_text(text: str) -> DataType:
    """Raises ScriptError if the text is not a type."""
    cursor = TokenCursor(Script(SourceText("type", text), text), list(Flink().tokenize(text)), takes_reserved=True)
    type_ = parse_type(cursor)
    cursor.end()
    return type_
