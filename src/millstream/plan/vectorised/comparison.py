"""Comparisons and logic on Arrow data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.plan.functions.comparison import comparison_type, membership_type, ordering_type, spark_pattern
from millstream.plan.vectorised.evaluators import And, Apply, Literal, Or, share
from millstream.sql.types import APPROXIMATE, INTERVALS, NESTED, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millstream.plan.vectorised.calls import VectorCall, VectorForm
    from millstream.plan.vectorised.evaluators import Datum, Evaluator
    from millstream.sql.types import DataType

_NOT_COMPARED: Final = NESTED | INTERVALS | {TypeRoot.NULL}


def equal(left: Datum, right: Datum) -> pa.Array:
    return pc.equal(left, right)


def equal_floats(left: Datum, right: Datum) -> pa.Array:
    """NaN equals itself, as in Spark."""
    return pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))


def less(left: Datum, right: Datum) -> pa.Array:
    return pc.less(left, right)


def less_floats(left: Datum, right: Datum) -> pa.Array:
    """NaN is greater than any number, as in Spark."""
    return pc.or_(pc.less(left, right), pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))


def invert(condition: pa.Array) -> pa.Array:
    return pc.invert(condition)


def is_null(values: pa.Array) -> pa.Array:
    return pc.is_null(values)


def is_true(conditions: pa.Array) -> pa.Array:
    return pc.fill_null(conditions, fill_value=False)


def is_false(conditions: pa.Array) -> pa.Array:
    return pc.invert(pc.fill_null(conditions, fill_value=True))


def both_null_or_equal(is_equal: Callable[[Datum, Datum], pa.Array], left: Datum, right: Datum) -> pa.Array:
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both_null, pc.fill_null(is_equal(left, right), fill_value=False))


def is_in(listed: pa.Array, has_null: bool, has_nan: bool, values: pa.Array) -> pa.Array:  # noqa: FBT001
    """NULL where the value is, and where it is not among others that are not all known."""
    if pa.types.is_floating(values.type):
        zero = pa.scalar(0.0, values.type)  # minus zero becomes zero
        values, listed = pc.add(values, zero), pc.add(listed, zero)
    found = pc.is_in(values, value_set=listed)
    if has_nan:
        found = pc.or_(found, pc.fill_null(pc.is_nan(values), fill_value=False))
    known = pc.and_(pc.is_valid(values), found) if has_null else pc.is_valid(values)
    return pc.if_else(known, found, pa.scalar(None, pa.bool_()))


def is_like(pattern: str, texts: pa.Array) -> pa.Array:
    return pc.match_like(texts, pattern)


def equality(left: Evaluator, right: Evaluator, type_: DataType) -> Evaluator:
    return Apply(_equal_of(type_), (left, right))


def order(left: Evaluator, right: Evaluator, type_: DataType) -> Evaluator:
    """Whether the left side is less."""
    return Apply(less_floats if type_.root in APPROXIMATE else less, (left, right))


def negate(condition: Evaluator) -> Evaluator:
    return Apply(invert, (condition,))


def _equal_of(type_: DataType) -> Callable[[Datum, Datum], pa.Array]:
    return equal_floats if type_.root in APPROXIMATE else equal


def _sides(call: VectorCall, as_type: Callable[[Sequence[DataType]], DataType]) -> tuple[list[Evaluator], DataType]:
    type_ = as_type(call.given.types)
    if type_.root in _NOT_COMPARED:
        raise call.obstacle(f"of {type_.root}")
    return [call.as_type(index, type_) for index in range(len(call))], type_


def _equality(call: VectorCall) -> Evaluator:
    (left, right), type_ = _sides(call, comparison_type)
    return equality(left, right, type_)


def _distinct(call: VectorCall) -> Evaluator:
    (left, right), type_ = _sides(call, comparison_type)
    return Apply(partial(both_null_or_equal, _equal_of(type_)), (left, right))


def _less(call: VectorCall) -> Evaluator:
    (left, right), type_ = _sides(call, ordering_type)
    return order(left, right, type_)


def _greater(call: VectorCall) -> Evaluator:
    (left, right), type_ = _sides(call, ordering_type)
    return order(right, left, type_)


def _between(call: VectorCall) -> Evaluator:
    (value, low, high), type_ = _sides(call, ordering_type)
    return _is_between(share(value), low, high, type_)


def _between_symmetric(call: VectorCall) -> Evaluator:
    sides, type_ = _sides(call, ordering_type)
    value, one, other = map(share, sides)
    return Or(_is_between(value, one, other, type_), _is_between(value, other, one, type_))


def _is_between(value: Evaluator, low: Evaluator, high: Evaluator, type_: DataType) -> Evaluator:
    return And(negate(order(value, low, type_)), negate(order(high, value, type_)))


def _in(call: VectorCall) -> Evaluator:
    sides, _ = _sides(call, membership_type)
    literals = [side.array for side in sides[1:] if isinstance(side, Literal)]
    if len(literals) < len(sides) - 1:
        raise call.obstacle("with values that are not literals")
    listed = pa.concat_arrays(literals)
    has_nan = pa.types.is_floating(listed.type) and bool(pc.any(pc.is_nan(listed)).as_py())
    return Apply(partial(is_in, listed.drop_null(), listed.null_count > 0, has_nan), (sides[0],))


def _like(call: VectorCall) -> Evaluator:
    escape = call.given.values[2] if len(call) > 2 else None  # noqa: PLR2004
    pattern = spark_pattern(call.text(1), escape if isinstance(escape, str) else None)
    if "\\\\" in pattern:  # which Arrow takes for two characters if it is part of a prefix, a suffix or a substring
        raise call.obstacle("with a backslash")
    return Apply(partial(is_like, pattern), (call[0],))


def _plain(function: Callable[..., pa.Array]) -> VectorForm:
    return lambda call: Apply(function, (call[0],))


FORMS: Final[dict[str, VectorForm]] = {
    "=": _equality,
    "<>": lambda call: negate(_equality(call)),
    "<": _less,
    ">": _greater,
    "<=": lambda call: negate(_greater(call)),
    ">=": lambda call: negate(_less(call)),
    "IS DISTINCT FROM": lambda call: negate(_distinct(call)),
    "IS NOT DISTINCT FROM": _distinct,
    "BETWEEN": _between,
    "BETWEEN SYMMETRIC": _between_symmetric,
    "IN": _in,
    "IS NULL": _plain(is_null),
    "LIKE": _like,
    "AND": lambda call: And(call.as_type(0, call.result), call.as_type(1, call.result)),
    "OR": lambda call: Or(call.as_type(0, call.result), call.as_type(1, call.result)),
    "NOT": lambda call: negate(call.as_type(0, call.result)),
    "IS TRUE": _plain(is_true),
    "IS FALSE": _plain(is_false),
    "IS UNKNOWN": _plain(is_null),
}
