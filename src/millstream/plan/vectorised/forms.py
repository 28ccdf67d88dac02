"""Compiles an expression for Arrow data, where each of its parts has a form there."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.plan.functions.signatures import given_of
from millstream.plan.typed import (
    Call,
    Constant,
    Conversion,
    FieldOf,
    InputColumn,
    Typed,
    UserCall,
    Word,
    parts_of,
    walk,
)
from millstream.plan.vectorised import arithmetic, comparison, conditional, rounding, temporal, text
from millstream.plan.vectorised.calls import VectorCall
from millstream.plan.vectorised.conversions import coerce, convert, store
from millstream.plan.vectorised.evaluators import Apply, ColumnValue, Literal, share
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
    **rounding.FORMS,
    **conditional.FORMS,
}

_DEEPEST: Final = 100
"""Workers evaluate part within part, on a stack that has room for some hundred."""
_TOO_DEEP: Final = "an expression as deep as this"


def vectorise(expression: Typed, wanted: DataType | None = None) -> Evaluator:
    """The expression in a form that workers evaluate, of type `wanted` if that is not None.

    Raises NotVectorisedError where only Spark can evaluate it.
    """
    if _depth(expression) > _DEEPEST:
        raise NotVectorisedError(_TOO_DEEP)
    found = _Compiler(expression).compile(expression)
    return found if wanted is None else store(found, expression.type, wanted)


def obstacle_of(expression: Typed, wanted: DataType | None = None) -> str | None:
    """What in the expression only Spark can evaluate; None where nothing is in the way."""
    try:
        vectorise(expression, wanted)
    except NotVectorisedError as obstacle:
        return str(obstacle)
    except RecursionError:
        return _TOO_DEEP
    return None


def field_of_rows(name: str, rows: pa.Array) -> pa.Array:
    return pc.struct_field(rows, [name])


def _depth(expression: Typed) -> int:
    return 1 + max(map(_depth, parts_of(expression)), default=0)


class _Compiler:
    """A part that occurs several times, as the operand of `CASE … WHEN … WHEN …` does, is compiled once."""

    def __init__(self, expression: Typed) -> None:
        self._uses = Counter(map(id, walk(expression)))
        self._shared: dict[int, Evaluator] = {}

    def compile(self, expression: Typed) -> Evaluator:
        place = id(expression)
        if self._uses[place] == 1:
            return self._compile(expression)
        if place not in self._shared:
            self._shared[place] = share(self._compile(expression))
        return self._shared[place]

    def _compile(self, expression: Typed) -> Evaluator:
        match expression:
            case InputColumn():
                return ColumnValue(expression.name, arrow_type(expression.type))
            case Constant():
                return _literal(expression)
            case FieldOf():
                return Apply(partial(field_of_rows, expression.name), (self.compile(expression.row),))
            case Conversion():
                value = self.compile(expression.value)
                return convert(value, expression.value.type, expression.type, attempt=expression.attempt)
            case UserCall():
                raise NotVectorisedError(f"function {expression.function.name}")
            case Call():
                return self._call(expression)

    def _call(self, call: Call) -> Evaluator:
        name = call.function.name
        if name not in FORMS or call.clauses:
            raise NotVectorisedError(name)
        given = given_of(call.arguments, dict(call.clauses))
        arguments = tuple(self._argument(call, index) for index in range(len(call.arguments)))
        return fold(FORMS[name](VectorCall(name, arguments, given, call.type)))

    def _argument(self, call: Call, index: int) -> Evaluator | None:
        argument = call.arguments[index]
        if isinstance(argument, Word) or argument.type.root in INTERVALS:
            return None
        value, wanted = self.compile(argument), call.signature.parameter(index).read_as
        return value if wanted is None else coerce(value, argument.type, wanted)


def _literal(constant: Constant) -> Evaluator:
    if constant.type.root in INTERVALS:
        raise NotVectorisedError("an interval")
    return Literal.of(constant.value, arrow_type(constant.type))
