"""Conditions of joins and lookups that are evaluated in Python, beside the rows that they compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.typed import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from millstream.plan.resolver.joins import Condition
    from millstream.plan.typed import Typed


def leave_out_true(conditions: Iterable[Condition]) -> list[Condition]:
    """ON TRUE says nothing."""
    return [each for each in conditions if not _is_true(each.expression)]


def _is_true(expression: Typed) -> bool:
    return isinstance(expression, Constant) and expression.value is True


def refuse_obstacles(conditions: Sequence[Condition], where: str, hint: str) -> None:
    """What only Spark can evaluate: `where` completes the sentence about it."""
    from millstream.plan.vectorised.forms import obstacle_of  # loads Arrow, which most scripts do not need for a check

    for condition in conditions:
        if (obstacle := obstacle_of(condition.expression)) is not None:
            raise ScriptError(
                Diagnostic(
                    Code.UNSUPPORTED_EXPRESSION,
                    f"{obstacle} {where} is not supported yet",
                    condition.span,
                    detail="Such a condition is evaluated in Python, which does not have all of Spark's functions.",
                    hint=hint,
                )
            )
