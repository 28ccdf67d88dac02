"""The SQL type of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import ScriptError
from millstream.plan.functions.results import fraction_digits
from millstream.plan.resolution import Resolver
from millstream.sql.casts import parts
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
    if found.root is not wanted.root:  # where clocks are put back, two instants have one TIMESTAMP
        return any({found.root, wanted.root} <= family for family in (INTEGERS, APPROXIMATE, CHARACTER))
    if found.root in TIMESTAMPS:
        return fraction_digits(wanted) >= fraction_digits(found)
    if found.root is TypeRoot.DECIMAL:
        return (wanted.scale or 0) >= (found.scale or 0)
    return all(keeps_apart(*pair) for pair in zip(parts(found), parts(wanted), strict=True))
