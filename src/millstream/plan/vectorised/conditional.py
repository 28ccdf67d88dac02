"""Choices between values on Arrow data."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.plan.functions.comparison import comparison_type
from millstream.plan.vectorised.comparison import equality, less, less_floats
from millstream.plan.vectorised.conversions import coerce
from millstream.plan.vectorised.evaluators import Apply, Case, Coalesce, Literal, share
from millstream.sql.types import APPROXIMATE, BOOLEAN, NESTED, DataType

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.vectorised.calls import VectorCall, VectorForm
    from millstream.plan.vectorised.evaluators import Datum, Evaluator


def choose_least(is_less: Callable[[Datum, Datum], pa.Array], left: Datum, right: Datum) -> pa.Array:
    """NULL if one of the two is; of equal ones the left one, which matters for zero and minus zero."""
    return pc.if_else(is_less(right, left), right, left)


def choose_greatest(is_less: Callable[[Datum, Datum], pa.Array], left: Datum, right: Datum) -> pa.Array:
    """NULL if one of the two is; of equal ones the left one."""
    return pc.if_else(is_less(left, right), right, left)


def _case(call: VectorCall) -> Evaluator:
    pairs = range(0, len(call) - 1, 2)
    branches = tuple((call.as_type(at, BOOLEAN), call.as_type(at + 1, call.result)) for at in pairs)
    default = call.as_type(len(call) - 1, call.result) if len(call) % 2 else _nothing(call.result)
    return Case(branches, default)


def _either(call: VectorCall) -> Evaluator:
    branch = (call.as_type(0, BOOLEAN), call.as_type(1, call.result))
    return Case((branch,), call.as_type(2, call.result))


def _coalesce(call: VectorCall) -> Evaluator:
    return Coalesce(tuple(call.as_type(index, call.result) for index in range(len(call))))


def _null_if(call: VectorCall) -> Evaluator:
    type_ = comparison_type(call.given.types)
    if type_.root in NESTED:
        raise call.obstacle(f"of {type_.root}")
    value = share(call[0])
    is_equal = equality(coerce(value, call.given.types[0], type_), call.as_type(1, type_), type_)
    return Case(((is_equal, _nothing(call.result)),), value)


def _extreme(call: VectorCall) -> Evaluator:
    if call.result.root in NESTED:
        raise call.obstacle(f"of {call.result.root}")
    is_less = less_floats if call.result.root in APPROXIMATE else less
    function = partial(choose_least if call.name == "LEAST" else choose_greatest, is_less)
    values = (call.as_type(index, call.result) for index in range(len(call)))
    return reduce(lambda found, value: Apply(function, (found, value)), values)


def _nothing(type_: DataType) -> Evaluator:
    return Literal.of(None, arrow_type(type_))


FORMS: Final[dict[str, VectorForm]] = {
    "CASE": _case,
    "NULLIF": _null_if,
    "COALESCE": _coalesce,
    "IF": _either,
    "IFNULL": _coalesce,
    "GREATEST": _extreme,
    "LEAST": _extreme,
}
