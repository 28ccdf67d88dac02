"""Which of a function's signatures a call fits, and in words why it fits none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.plan.functions.results import bare
from millstream.plan.typed import Constant, Word
from millstream.sql.functions import WORD, Given
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from millstream.plan.typed import Typed
    from millstream.sql.functions import Function, Parameter, Signature

    Argument = Typed | Word
    Clause = Typed | Word | DataType


@dataclass(frozen=True, slots=True)
class Mismatch:
    why: str
    argument: int | None = None
    """The one argument that is wrong, where it is one."""


def choose(function: Function, arguments: Sequence[Argument]) -> Signature | Mismatch:
    counted = [sign for sign in function.signatures if sign.takes(len(arguments))]
    if not counted:
        many = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
        return Mismatch(f"{function.name} does not take {many}")
    wrong = [_first_wrong(sign, arguments) for sign in counted]
    if None in wrong:
        sign = counted[wrong.index(None)]
        return _wrong_literal(sign, arguments) or sign
    if len(counted) == 1 and (index := wrong[0]) is not None:
        return Mismatch(_why(function, counted[0].parameter(index), arguments[index]), index)
    return Mismatch(f"{function.name} does not take ({', '.join(map(_format_argument, arguments))})")


def wrong_clause(function: Function, clauses: Mapping[str, Clause]) -> str | None:
    """What is wrong with the clauses of a call, in words."""
    for name, value in clauses.items():
        word = value.text if isinstance(value, Word) else "TYPE" if isinstance(value, DataType) else "DEFAULT"
        if name not in function.clauses:
            return f"{function.name} has no {name}"
        if word not in function.clauses[name]:
            return f"{function.name} has no {word} {name}"
    return None


def given_of(arguments: Sequence[Argument], clauses: Mapping[str, Clause]) -> Given:
    """What a declaration gets to see of a call."""
    return Given(
        tuple(DataType(TypeRoot.NULL, nullable=False) if isinstance(item, Word) else item.type for item in arguments),
        tuple(item.text if isinstance(item, Word) else _value(item) for item in arguments),
        {name: _clause_value(value) for name, value in clauses.items()},
    )


def format_signature(function: Function) -> str:
    return f"Its signature is {' or '.join(function.forms)}."


def _value(item: Typed) -> object:
    return item.value if isinstance(item, Constant) else None


def _clause_value(value: Clause) -> object:
    if isinstance(value, Word):
        return value.text
    return value if isinstance(value, DataType) else value.type


def _first_wrong(sign: Signature, arguments: Sequence[Argument]) -> int | None:
    return next((i for i, item in enumerate(arguments) if not _takes(sign.parameter(i), item)), None)


def _wrong_literal(sign: Signature, arguments: Sequence[Argument]) -> Mismatch | None:
    for index, item in enumerate(arguments):
        problem = sign.parameter(index).problem if sign.parameters else None
        if problem is not None and isinstance(item, Constant) and isinstance(item.value, str):
            why = problem(item.value)
            if why is not None:
                return Mismatch(why, index)
    return None


def _takes(parameter: Parameter, item: Argument) -> bool:
    if isinstance(item, Word):
        return item.text in parameter.words
    if parameter.family is WORD or (parameter.literal and not isinstance(item, Constant)):
        return False
    return item.type.root is TypeRoot.NULL or item.type.root in parameter.family.roots


def _why(function: Function, parameter: Parameter, given: Argument) -> str:
    if parameter.family is WORD:
        return f"{function.name} takes {', '.join(sorted(parameter.words))} here, not {_format_argument(given)}"
    if not isinstance(given, Word) and given.type.root in parameter.family.roots:
        return f"{function.name} takes a literal here"
    return f"{function.name} takes {parameter.family.name} here, not {_format_argument(given)}"


def _format_argument(argument: Argument) -> str:
    return argument.text if isinstance(argument, Word) else bare(argument.type)
