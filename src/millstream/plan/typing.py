"""The SQL type of an expression, as far as it can be told without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.sql.types import (
    APPROXIMATE,
    BIGINT,
    BOOLEAN,
    CHARACTER,
    DOUBLE,
    INT,
    INTEGERS,
    NUMERIC,
    STRING,
    TIMESTAMPS,
    DataType,
    TypeRoot,
    decimal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_ALWAYS: Final = (
    ((exp.Predicate, exp.Not, exp.And, exp.Or, exp.Boolean), BOOLEAN),
    ((exp.Upper, exp.Lower, exp.Concat, exp.DPipe, exp.Substring, exp.Trim), STRING),
    (exp.Length, INT),
)
"""Expressions whose type does not depend on what they are made of."""
_WIDTH: Final = {TypeRoot.TINYINT: 0, TypeRoot.SMALLINT: 1, TypeRoot.INT: 2, TypeRoot.BIGINT: 3}
_WITHOUT_CAST: Final = {
    TypeRoot.SMALLINT: {TypeRoot.TINYINT},
    TypeRoot.INT: {TypeRoot.TINYINT, TypeRoot.SMALLINT},
    TypeRoot.BIGINT: INTEGERS,
    TypeRoot.FLOAT: INTEGERS | {TypeRoot.DECIMAL},
    TypeRoot.DOUBLE: NUMERIC,
    TypeRoot.DECIMAL: NUMERIC,
    TypeRoot.TIMESTAMP: TIMESTAMPS,
    TypeRoot.TIMESTAMP_LTZ: TIMESTAMPS,
    TypeRoot.DATE: {TypeRoot.TIMESTAMP},
    **dict.fromkeys(CHARACTER, CHARACTER),
}
_CAST: Final = {
    exp.DType.BOOLEAN: TypeRoot.BOOLEAN,
    exp.DType.TINYINT: TypeRoot.TINYINT,
    exp.DType.SMALLINT: TypeRoot.SMALLINT,
    exp.DType.INT: TypeRoot.INT,
    exp.DType.BIGINT: TypeRoot.BIGINT,
    exp.DType.FLOAT: TypeRoot.FLOAT,
    exp.DType.DOUBLE: TypeRoot.DOUBLE,
    exp.DType.TEXT: TypeRoot.STRING,
    exp.DType.VARCHAR: TypeRoot.STRING,
    exp.DType.DATE: TypeRoot.DATE,
}


def infer(expression: exp.Expr, column_type: Callable[[str], DataType | None]) -> DataType | None:
    """None where the type is not known here; Spark will tell when the job is built."""
    found: DataType | None = next((type_ for kind, type_ in _ALWAYS if isinstance(expression, kind)), None)
    match expression:
        case exp.Column():
            found = column_type(expression.name)
        case exp.Paren() | exp.Neg() | exp.Abs():
            found = infer(expression.this, column_type)
        case exp.Literal():
            found = _literal(expression)
        case exp.Cast():
            found = cast_target(expression)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
            left, right = infer(expression.this, column_type), infer(expression.expression, column_type)
            found = _widest_number(left, right)
    return found


def cast_target(cast: exp.Cast) -> DataType | None:
    root = _CAST.get(cast.to.this)
    return DataType(root) if root else None


def _literal(literal: exp.Literal) -> DataType | None:
    if literal.is_string:
        return STRING
    text = literal.this
    if text.isdigit():
        return INT if int(text) < 1 << 31 else BIGINT
    if "e" in text.lower():
        return DOUBLE
    digits = text.replace(".", "")
    return decimal(len(digits), len(text) - text.index(".") - 1)


def _widest_number(left: DataType | None, right: DataType | None) -> DataType | None:
    if left is None or right is None or not {left.root, right.root} <= NUMERIC:
        return None
    if left.root in APPROXIMATE or right.root in APPROXIMATE:
        return left if left.root is right.root else DOUBLE
    if left.root in INTEGERS and right.root in INTEGERS:
        return max(left, right, key=lambda type_: _WIDTH[type_.root])
    return None


def sum_type(argument: DataType | None) -> DataType | None:
    """SUM keeps its argument's type; of a decimal it has all 38 digits."""
    if argument is None or argument.root not in NUMERIC:
        return None
    if argument.root is TypeRoot.DECIMAL:
        return decimal(38, argument.scale or 0)
    return DataType(argument.root)


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether a query's column can be written to a sink's column without a CAST."""
    if found.root is not wanted.root:
        return found.root in _WITHOUT_CAST.get(wanted.root, frozenset())
    inner = zip(_parts(found), _parts(wanted), strict=False)
    return len(_parts(found)) == len(_parts(wanted)) and all(fits(a, b) for a, b in inner)


def keeps_apart(found: DataType | None, wanted: DataType | None) -> bool:
    """Whether values that differ still differ after the cast: only then does a key stay a key."""
    if found is None or wanted is None:
        return found is wanted
    if found.root is TypeRoot.DECIMAL or wanted.root is TypeRoot.DECIMAL:
        return found.root is wanted.root and (wanted.scale or 0) >= (found.scale or 0)
    exact = found.root is wanted.root or {found.root, wanted.root} <= APPROXIMATE
    return exact or any({found.root, wanted.root} <= family for family in (INTEGERS, CHARACTER, TIMESTAMPS))


def _parts(type_: DataType) -> list[DataType]:
    return [part for part in (type_.key, type_.element, *(field.type for field in type_.fields)) if part is not None]


def common_type(left: DataType, right: DataType) -> DataType | None:
    """A type that takes the values of both, or None."""
    if left.root is right.root and left.precision == right.precision:
        return left
    if TypeRoot.NULL in (left.root, right.root):
        return right if left.root is TypeRoot.NULL else left
    if {left.root, right.root} <= CHARACTER:
        return STRING
    return _widest_number(left, right) or next((b for a, b in ((left, right), (right, left)) if fits(a, b)), None)
