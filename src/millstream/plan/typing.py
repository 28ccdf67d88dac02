"""The SQL type of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import ScriptError
from millstream.plan.functions.results import fraction_digits
from millstream.plan.resolution import Resolver
from millstream.sql.types import APPROXIMATE, CHARACTER, INTEGERS, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from millstream.plan.typed import Typed


def infer(expression: exp.Expr, column_type: Callable[[str], DataType | None]) -> DataType:
    """The type of an expression that a `Scope` has bound."""
    return typed(expression, column_type).type


def typed(expression: exp.Expr, column_type: Callable[[str], DataType | None]) -> Typed:
    """A bound expression with a type on every part of it."""
    resolver = Resolver(column_type, aggregates=True)
    found = resolver.resolve(expression)
    if found is None or resolver.problems:
        raise ScriptError(resolver.problems)
    return found


def keeps_apart(found: DataType | None, wanted: DataType | None) -> bool:
    """Whether values that differ still differ after the cast: only then does a key stay a key."""
    if found is None or wanted is None:
        return found is wanted
    if found.root is TypeRoot.DECIMAL or wanted.root is TypeRoot.DECIMAL:
        return found.root is wanted.root and (wanted.scale or 0) >= (found.scale or 0)
    if {found.root, wanted.root} <= TIMESTAMPS:
        return fraction_digits(found) <= fraction_digits(wanted)
    exact = found.root is wanted.root or {found.root, wanted.root} <= APPROXIMATE
    return exact or any({found.root, wanted.root} <= family for family in (INTEGERS, CHARACTER))
