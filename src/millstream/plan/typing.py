"""The SQL type of an expression, and which types fit into which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.errors import ScriptError
from millstream.plan.casts import parts
from millstream.plan.resolution import Resolver
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, INTEGERS, NUMERIC, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from millstream.plan.typed import Typed

_WITHOUT_CAST: Final = {
    TypeRoot.SMALLINT: {TypeRoot.TINYINT},
    TypeRoot.INT: {TypeRoot.TINYINT, TypeRoot.SMALLINT},
    TypeRoot.BIGINT: INTEGERS,
    TypeRoot.FLOAT: INTEGERS | {TypeRoot.DECIMAL},
    TypeRoot.DOUBLE: NUMERIC,
    TypeRoot.DECIMAL: NUMERIC,
    TypeRoot.TIMESTAMP: TIMESTAMPS,
    TypeRoot.TIMESTAMP_LTZ: TIMESTAMPS,
    TypeRoot.DATE: {TypeRoot.TIMESTAMP},
    **dict.fromkeys(CHARACTER, CHARACTER),
    **dict.fromkeys(BINARIES, BINARIES),
}


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


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether a query's column can be written to a sink's column without a CAST."""
    if found.root is TypeRoot.NULL:
        return True
    if found.root is not wanted.root:
        return found.root in _WITHOUT_CAST.get(wanted.root, frozenset())
    inner = zip(parts(found), parts(wanted), strict=False)
    return len(parts(found)) == len(parts(wanted)) and all(fits(a, b) for a, b in inner)


def keeps_apart(found: DataType | None, wanted: DataType | None) -> bool:
    """Whether values that differ still differ after the cast: only then does a key stay a key."""
    if found is None or wanted is None:
        return found is wanted
    if found.root is TypeRoot.DECIMAL or wanted.root is TypeRoot.DECIMAL:
        return found.root is wanted.root and (wanted.scale or 0) >= (found.scale or 0)
    exact = found.root is wanted.root or {found.root, wanted.root} <= APPROXIMATE
    return exact or any({found.root, wanted.root} <= family for family in (INTEGERS, CHARACTER, TIMESTAMPS))
