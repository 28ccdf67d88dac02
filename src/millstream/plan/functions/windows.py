"""Functions that OVER alone computes: numbers of rows, and values of other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.casts import fits
from millstream.plan.functions.results import bare
from millstream.sql.functions import INTEGER, Category, Function, MismatchError, Nulls, Parameter, Signature, signature
from millstream.sql.types import BIGINT, DOUBLE, DataType

if TYPE_CHECKING:
    from millstream.sql.functions import Given

_OVER: Final = " OVER (…)"
_LOOKS_AHEAD: Final = "Flink refuses it. Rows that come later change its result, so that rows are updated."
_PEERS: Final = "Of rows of the same time, the one that arrived before; Flink gives all of them the same value."


def _of_another_row(given: Given) -> DataType:
    value, *others = given.types
    offset = given.values[1] if len(given) > 1 else 1
    if not isinstance(offset, int) or offset < 0:
        raise MismatchError("the number of rows is 0 or more", argument=1)
    default = others[1] if len(others) > 1 else value
    if not fits(default, value):
        raise MismatchError(f"the default is {bare(default)}, and the value {bare(value)}", "Use CAST.", 2)
    return value.or_null()


def _number_of_tile(given: Given) -> DataType:
    tiles = given.values[0]
    if not isinstance(tiles, int) or tiles < 1:
        raise MismatchError("the number of tiles is 1 or more", argument=0)
    return BIGINT


def _function(name: str, sign: Signature, note: str = "") -> Function:
    return Function(name, Category.WINDOW, (sign,), None, note=note, written=f"{name}({sign}){_OVER}")


_NUMBER: Final = signature(gives=BIGINT, nulls=Nulls.NEVER)
_SHARE: Final = signature(gives=DOUBLE, nulls=Nulls.NEVER)
_OTHER_ROW: Final = signature(
    Parameter("value"),
    Parameter("rows", INTEGER, literal=True),
    Parameter("default"),
    gives=(_of_another_row, "the value's type"),
    optional=2,
    nulls=Nulls.ALWAYS,
)
_TILE: Final = signature(
    Parameter("tiles", INTEGER, literal=True), gives=(_number_of_tile, "BIGINT"), nulls=Nulls.NEVER
)

FUNCTIONS: Final = (
    _function("ROW_NUMBER", _NUMBER),
    _function("RANK", _NUMBER),
    _function("DENSE_RANK", _NUMBER),
    _function("LAG", _OTHER_ROW, _PEERS),
    _function("LEAD", _OTHER_ROW, _LOOKS_AHEAD),
    _function("NTILE", _TILE, _LOOKS_AHEAD),
    _function("PERCENT_RANK", _SHARE, _LOOKS_AHEAD),
    _function("CUME_DIST", _SHARE, _LOOKS_AHEAD),
)
