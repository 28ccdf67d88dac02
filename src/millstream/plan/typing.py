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
    from collections.abc import Callable, Mapping

_PREDICATES: Final = (exp.Predicate, exp.Not, exp.And, exp.Or, exp.Boolean)
_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_TEXT: Final = (exp.Upper, exp.Lower, exp.Concat, exp.DPipe, exp.Substring, exp.Trim)
_WIDTH: Final = {TypeRoot.TINYINT: 0, TypeRoot.SMALLINT: 1, TypeRoot.INT: 2, TypeRoot.BIGINT: 3}
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
    match expression:
        case exp.Column():
            return column_type(expression.name)
        case exp.Paren() | exp.Neg() | exp.Abs():
            return infer(expression.this, column_type)
        case exp.Literal():
            return _literal(expression)
        case exp.Cast():
            return cast_target(expression)
        case exp.Length():
            return INT
        case _ if isinstance(expression, _PREDICATES):
            return BOOLEAN
        case _ if isinstance(expression, _TEXT):
            return STRING
        case _ if isinstance(expression, _ARITHMETIC):
            left = infer(expression.this, column_type)
            right = infer(expression.expression, column_type)
            return _widest_number(left, right)
        case _:
            return None


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
        return DOUBLE
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
    if found.root is wanted.root:
        return True
    for family in (NUMERIC, CHARACTER, TIMESTAMPS):
        if found.root in family:
            return wanted.root in family
    return False


def column_types(types: Mapping[str, DataType | None]) -> Callable[[str], DataType | None]:
    return lambda name: types.get(name)
