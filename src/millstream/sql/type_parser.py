"""Reading a column's type, e.g. `DECIMAL(10, 2) NOT NULL` or `ROW<a INT, b ARRAY<STRING>>`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.errors import Code
from millstream.sql.types import MAX_DECIMAL_PRECISION, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from millstream.sql.cursor import TokenCursor

_PLAIN: Final = {
    "BOOLEAN": TypeRoot.BOOLEAN,
    "TINYINT": TypeRoot.TINYINT,
    "SMALLINT": TypeRoot.SMALLINT,
    "INT": TypeRoot.INT,
    "INTEGER": TypeRoot.INT,
    "BIGINT": TypeRoot.BIGINT,
    "FLOAT": TypeRoot.FLOAT,
    "STRING": TypeRoot.STRING,
    "BYTES": TypeRoot.BYTES,
    "DATE": TypeRoot.DATE,
}
_SIZED: Final = {"CHAR": TypeRoot.CHAR, "VARCHAR": TypeRoot.VARCHAR}
_UNLIMITED: Final = {"VARCHAR": TypeRoot.STRING, "VARBINARY": TypeRoot.BYTES}
"""What these are in a CAST that names no length."""
_SHORTEST: Final = {"BINARY": 1, "TIME": 0}
_IN_EXPRESSIONS: Final = frozenset({*_UNLIMITED, *_SHORTEST, "MULTISET"})
_RECOGNISED: Final = frozenset({"BINARY", "VARBINARY", "INTERVAL", "MULTISET", "RAW", "NULL", "TIME", "VARIANT"})
_MAX_FRACTION_DIGITS: Final = 9
_DEFAULT_DECIMAL: Final = (10, 0)


def parse_type(cursor: TokenCursor, *, storable: bool = True) -> DataType:
    """`storable` is a column's type; an expression knows a few more."""
    word = cursor.current.text.upper() if cursor.current is not None else ""
    is_wider = not storable and word in _IN_EXPRESSIONS
    type_ = _type_in_expression(cursor, word) if is_wider else _bare_type(cursor, storable=storable)
    if cursor.accept("NOT", "NULL"):
        return type_.not_null()
    cursor.accept("NULL")
    return type_


def _bare_type(cursor: TokenCursor, *, storable: bool) -> DataType:
    before = cursor.error("expected a type")
    if cursor.current is None:
        raise before
    word = cursor.current.text.upper()
    if word in _PLAIN and cursor.accept(word):
        return DataType(_PLAIN[word])
    if word in _SIZED:
        cursor.expect(word)
        return DataType(_SIZED[word], precision=_bracketed(cursor) or 1)
    match word:
        case "DOUBLE":
            cursor.expect("DOUBLE")
            cursor.accept("PRECISION")
            return DataType(TypeRoot.DOUBLE)
        case "DECIMAL" | "DEC" | "NUMERIC":
            return _decimal(cursor, word)
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return _timestamp(cursor, word)
        case "ARRAY" | "MAP" | "ROW":
            return _nested(cursor, word, storable=storable)
    if word in _RECOGNISED:
        raise cursor.error(
            f"type {word} is not supported yet",
            hint="Declare the column as STRING, BYTES, BIGINT or TIMESTAMP instead.",
            code=Code.UNSUPPORTED_TYPE,
        )
    raise before


def _type_in_expression(cursor: TokenCursor, word: str) -> DataType:
    """Types that a value can have and a column cannot, and those whose length may be left open here."""
    if word == "MULTISET":
        return _nested(cursor, word, storable=False)
    cursor.expect(word)
    size = _bracketed(cursor)
    if size is None and word in _UNLIMITED:
        return DataType(_UNLIMITED[word])
    return DataType(TypeRoot(word), precision=size if size is not None else _SHORTEST[word])


def _bracketed(cursor: TokenCursor) -> int | None:
    if not cursor.accept("("):
        return None
    value = cursor.integer()
    cursor.expect(")")
    return value


def _decimal(cursor: TokenCursor, word: str) -> DataType:
    cursor.expect(word)
    precision, scale = _DEFAULT_DECIMAL
    if cursor.accept("("):
        place = cursor.error(f"DECIMAL takes 1 to {MAX_DECIMAL_PRECISION} digits, and no more of them as fraction")
        precision = cursor.integer()
        scale = cursor.integer() if cursor.accept(",") else 0
        if not 1 <= precision <= MAX_DECIMAL_PRECISION or scale > precision:
            raise place
        cursor.expect(")")
    return DataType(TypeRoot.DECIMAL, precision=precision, scale=scale)


def _timestamp(cursor: TokenCursor, word: str) -> DataType:
    cursor.expect(word)
    place = cursor.error(f"{word} takes 0 to {_MAX_FRACTION_DIGITS} fraction digits")
    precision = _bracketed(cursor)
    if precision is not None and precision > _MAX_FRACTION_DIGITS:
        raise place
    root = TypeRoot(word)
    if cursor.accept("WITH", "LOCAL", "TIME", "ZONE"):
        root = TypeRoot.TIMESTAMP_LTZ
    elif cursor.at("WITH", "TIME", "ZONE"):
        raise cursor.error("TIMESTAMP WITH TIME ZONE is not supported", "Use TIMESTAMP_LTZ.", Code.UNSUPPORTED_TYPE)
    else:
        cursor.accept("WITHOUT", "TIME", "ZONE")
    return DataType(root, precision=precision)


def _nested(cursor: TokenCursor, word: str, *, storable: bool) -> DataType:
    cursor.expect(word)
    if word == "ROW":
        close = ")" if cursor.accept("(") else _opened_angle(cursor)
        fields = [_field(cursor, storable=storable)]
        while cursor.accept(","):
            fields.append(_field(cursor, storable=storable))
        cursor.expect(close)
        return DataType(TypeRoot.ROW, fields=tuple(fields))
    close = _opened_angle(cursor)
    first = parse_type(cursor, storable=storable)
    if word != "MAP":
        cursor.expect(close)
        return DataType(TypeRoot(word), element=first)
    cursor.expect(",")
    value = parse_type(cursor, storable=storable)
    cursor.expect(close)
    return DataType(TypeRoot.MAP, key=first, element=value)


def _opened_angle(cursor: TokenCursor) -> str:
    cursor.expect("<")
    return ">"


def _field(cursor: TokenCursor, *, storable: bool) -> Field:
    name = cursor.name("a field name")
    return Field(name.text, parse_type(cursor, storable=storable))
