"""Parses a column's type, e.g. `DECIMAL(10, 2) NOT NULL` or `ROW<a INT, b ARRAY<STRING>>`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from millstream.errors import Code
from millstream.sql.slips import did_you_mean, is_mark
from millstream.sql.types import MAX_DECIMAL_PRECISION, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.errors import ScriptError
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
_SIZED: Final = {
    "CHAR": TypeRoot.CHAR,
    "VARCHAR": TypeRoot.VARCHAR,
    "BINARY": TypeRoot.BINARY,
    "VARBINARY": TypeRoot.VARBINARY,
}
_UNLIMITED: Final = {TypeRoot.VARCHAR: TypeRoot.STRING, TypeRoot.VARBINARY: TypeRoot.BYTES}
_TIMES: Final = {
    "TIME": TypeRoot.TIME,
    "TIMESTAMP": TypeRoot.TIMESTAMP,
    "TIMESTAMP_LTZ": TypeRoot.TIMESTAMP_LTZ,
}
_COLLECTIONS: Final = {"ARRAY": TypeRoot.ARRAY, "MULTISET": TypeRoot.MULTISET}
_REFUSED: Final = {
    "BITMAP": "BYTES",
    "DESCRIPTOR": "STRING",
    "NULL": "STRING",
    "RAW": "BYTES",
    "STRUCTURED": "ROW<…>",
    "VARIANT": "STRING",
}
"""Types of Flink that a Kafka table does not support, and what to declare instead."""
_MONTH_UNITS: Final = ("YEAR", "QUARTER", "MONTH")
_TIME_UNITS: Final = ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_MAX_FRACTION_DIGITS: Final = 9
_MAX_LEADING_DIGITS: Final = 6
_MAX_LENGTH: Final = 2**31 - 1
_DEFAULT_DECIMAL: Final = (10, 0)


def parse_type(cursor: TokenCursor) -> DataType:
    type_ = _nullability(cursor, _bare_type(cursor))
    while (word := cursor.accept_any(*_COLLECTIONS)) is not None:
        type_ = _nullability(cursor, DataType(_COLLECTIONS[word], element=type_))
    return type_


def _nullability(cursor: TokenCursor, type_: DataType) -> DataType:
    if cursor.accept("NOT", "NULL"):
        return type_.not_null()
    cursor.accept("NULL")
    return type_


def _bare_type(cursor: TokenCursor) -> DataType:
    if cursor.at_any(*_REFUSED):
        raise _refuse(cursor)
    if (word := cursor.accept_any(*_READERS)) is None:
        raise _not_a_type(cursor)
    return _READERS[word](cursor)


def _refuse(cursor: TokenCursor) -> ScriptError:
    word = cursor.current.text.upper() if cursor.current is not None else ""
    return cursor.error(Code.UNSUPPORTED_TYPE, f"type {word} is not supported", f"Use {_REFUSED[word]} instead.")


def _not_a_type(cursor: TokenCursor) -> ScriptError:
    token = cursor.current
    near = None
    if token is not None and not is_mark(token, ",", ")", '"'):
        near = did_you_mean(token.text, _READERS)
    return cursor.expected_error("a type", near)


def _read_length(cursor: TokenCursor, word: str, least: int, most: int) -> int | None:
    if not cursor.accept("("):
        return None
    out_of_range = cursor.error(Code.SYNTAX, f"{word} takes a number from {least} to {most}")
    value = cursor.integer()
    if not least <= value <= most:
        raise out_of_range
    cursor.expect(")")
    return value


def _read_sized_type(cursor: TokenCursor, root: TypeRoot) -> DataType:
    """Without a length, CHAR and BINARY hold one character or byte, VARCHAR and VARBINARY any number."""
    length = _read_length(cursor, root, 1, _MAX_LENGTH)
    if length is None and root in _UNLIMITED:
        return DataType(_UNLIMITED[root])
    return DataType(root, precision=length or 1)


def _character(cursor: TokenCursor) -> DataType:
    return _read_sized_type(cursor, TypeRoot.VARCHAR if cursor.accept("VARYING") else TypeRoot.CHAR)


def _double(cursor: TokenCursor) -> DataType:
    cursor.accept("PRECISION")
    return DataType(TypeRoot.DOUBLE)


def _decimal(cursor: TokenCursor) -> DataType:
    precision, scale = _DEFAULT_DECIMAL
    if cursor.accept("("):
        out_of_range = cursor.error(
            Code.SYNTAX, f"DECIMAL takes a precision from 1 to {MAX_DECIMAL_PRECISION} and a scale no larger than that"
        )
        precision = cursor.integer()
        scale = cursor.integer() if cursor.accept(",") else 0
        if not 1 <= precision <= MAX_DECIMAL_PRECISION or scale > precision:
            raise out_of_range
        cursor.expect(")")
    return DataType(TypeRoot.DECIMAL, precision=precision, scale=scale)


def _time(cursor: TokenCursor, root: TypeRoot) -> DataType:
    precision = _read_length(cursor, root, 0, _MAX_FRACTION_DIGITS)
    if root is TypeRoot.TIME and precision is None:
        precision = 0
    if cursor.at("WITH", "TIME", "ZONE"):
        raise cursor.error(Code.UNSUPPORTED_TYPE, f"{root} WITH TIME ZONE is not supported", "Use TIMESTAMP_LTZ.")
    if root is TypeRoot.TIMESTAMP and cursor.accept("WITH", "LOCAL", "TIME", "ZONE"):
        root = TypeRoot.TIMESTAMP_LTZ
    elif root is not TypeRoot.TIMESTAMP_LTZ:
        cursor.accept("WITHOUT", "TIME", "ZONE")
    return DataType(root, precision=precision)


def _interval(cursor: TokenCursor) -> DataType:
    """Flink stores months or milliseconds, whatever the units; only the digits of the seconds matter."""
    for units, root in ((_MONTH_UNITS, TypeRoot.INTERVAL_YEAR_MONTH), (_TIME_UNITS, TypeRoot.INTERVAL_DAY_TIME)):
        if (unit := cursor.accept_any(*units)) is None:
            continue
        if unit != "SECOND":
            _read_length(cursor, unit, 1, _MAX_LEADING_DIGITS)
        if cursor.accept("TO") and (unit := cursor.accept_any(*units)) is None:
            raise cursor.expected_error("the finer unit of the interval")
        precision = _read_length(cursor, "SECOND", 0, _MAX_FRACTION_DIGITS) if unit == "SECOND" else None
        return DataType(root, precision=precision)
    raise cursor.expected_error("a unit, e.g. DAY TO SECOND")


def _row(cursor: TokenCursor) -> DataType:
    close = ")" if cursor.accept("(") else ">"
    if close == ">":
        cursor.expect("<")
    fields = [_field(cursor)]
    while cursor.accept(","):
        fields.append(_field(cursor))
    cursor.expect(close)
    return DataType(TypeRoot.ROW, fields=tuple(fields))


def _field(cursor: TokenCursor) -> Field:
    name = cursor.column_name("a field name")
    type_ = parse_type(cursor)
    return Field(name.text, type_, cursor.string("a comment").text if cursor.at_string() else None)


def _map(cursor: TokenCursor) -> DataType:
    cursor.expect("<")
    key = parse_type(cursor)
    cursor.expect(",")
    value = parse_type(cursor)
    cursor.expect(">")
    return DataType(TypeRoot.MAP, key=key, element=value)


def _collection(cursor: TokenCursor, root: TypeRoot) -> DataType:
    cursor.expect("<")
    element = parse_type(cursor)
    cursor.expect(">")
    return DataType(root, element=element)


def _plain(_: TokenCursor, root: TypeRoot) -> DataType:
    return DataType(root)


_READERS: Final[dict[str, Callable[[TokenCursor], DataType]]] = {
    **{word: partial(_plain, root=root) for word, root in _PLAIN.items()},
    **{word: partial(_read_sized_type, root=root) for word, root in _SIZED.items()},
    **{word: partial(_time, root=root) for word, root in _TIMES.items()},
    **{word: partial(_collection, root=root) for word, root in _COLLECTIONS.items()},
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), _decimal),
    "CHARACTER": _character,
    "DOUBLE": _double,
    "INTERVAL": _interval,
    "MAP": _map,
    "ROW": _row,
}
"""The first word of a type, and the parser of the rest."""
