"""Conditions that AND holds together, taken apart and put together."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.functions.signatures import choose
from millstream.plan.typed import Call
from millstream.sql.types import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.plan.typed import Typed


def conjuncts_of(condition: Typed) -> list[Typed]:
    """The parts that AND holds together."""
    if isinstance(condition, Call) and condition.function.name == "AND":
        return [part for argument in condition.arguments for part in conjuncts_of(argument)]  # type: ignore[arg-type]
    return [condition]


def all_of(conditions: Iterable[Typed]) -> Typed:
    return reduce(_and, conditions)


def _and(left: Typed, right: Typed) -> Typed:
    function = FUNCTIONS["AND"]
    sign = choose(function, (left, right))
    nullable = left.type.nullable or right.type.nullable
    return Call(function, sign, (left, right), replace(BOOLEAN, nullable=nullable))  # type: ignore[arg-type]
