"""Compiles an expression for Arrow data, where each of its parts has a form there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.plan.functions.signatures import given_of
from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, UserCall, Word
from millstream.plan.vectorised import arithmetic, comparison, conditional, temporal, text
from millstream.plan.vectorised.calls import VectorCall
from millstream.plan.vectorised.conversions import coerce, convert, store
from millstream.plan.vectorised.evaluators import Apply, ColumnValue, Literal
from millstream.plan.vectorised.literals import fold
from millstream.plan.vectorised.obstacles import NotVectorisedError
from millstream.sql.types import INTERVALS

if TYPE_CHECKING:
    from millstream.plan.vectorised.calls import VectorForm
    from millstream.plan.vectorised.evaluators import Evaluator
    from millstream.sql.types import DataType

FORMS: Final[dict[str, VectorForm]] = {
    **comparison.FORMS,
    **arithmetic.FORMS,
    **text.FORMS,
    **temporal.FORMS,
    **conditional.FORMS,
}


def vectorise(expression: Typed, wanted: DataType | None = None) -> Evaluator:
    """The expression in a form that workers evaluate, of type `wanted` if that is not None.

    Raises NotVectorisedError where only Spark can evaluate it.
    """
    found = _compile(expression)
    return found if wanted is None else store(found, expression.type, wanted)


def obstacle_of(expression: Typed, wanted: DataType | None = None) -> str | None:
    """What in the expression only Spark can evaluate; None where nothing is in the way."""
    try:
        vectorise(expression, wanted)
    except NotVectorisedError as obstacle:
        return str(obstacle)
    return None


def field_of_rows(name: str, rows: pa.Array) -> pa.Array:
    return pc.struct_field(rows, [name])


def _compile(expression: Typed) -> Evaluator:
    match expression:
        case InputColumn():
            return ColumnValue(expression.name, arrow_type(expression.type))
        case Constant():
            return _literal(expression)
        case FieldOf():
            return Apply(partial(field_of_rows, expression.name), (_compile(expression.row),))
        case Conversion():
            value = _compile(expression.value)
            return convert(value, expression.value.type, expression.type, attempt=expression.attempt)
        case UserCall():
            raise NotVectorisedError(f"function {expression.function.name}")
        case Call():
            return _call(expression)


def _call(call: Call) -> Evaluator:
    name = call.function.name
    if name not in FORMS or call.clauses:
        raise NotVectorisedError(name)
    given = given_of(call.arguments, dict(call.clauses))
    arguments = tuple(_argument(call, index) for index in range(len(call.arguments)))
    return fold(FORMS[name](VectorCall(name, arguments, given, call.type)))


def _argument(call: Call, index: int) -> Evaluator | None:
    argument = call.arguments[index]
    if isinstance(argument, Word) or argument.type.root in INTERVALS:
        return None
    value, wanted = _compile(argument), call.signature.parameter(index).read_as
    return value if wanted is None else coerce(value, argument.type, wanted)


def _literal(constant: Constant) -> Evaluator:
    if constant.type.root in INTERVALS:
        raise NotVectorisedError("an interval")
    return Literal(pa.scalar(constant.value, arrow_type(constant.type)))
