"""Refuse to look rows up that are retracted later: another row might be retracted than was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.node import walk
from millstream.plan.resolver.lookups import REGULAR_JOIN

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.roots import Root


def check_lookups(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    """Once all is known that decides about changes: the first rows by arrival stay, and a TTL may give rows again."""
    problems = [
        Diagnostic(
            Code.UNSUPPORTED_STATEMENT,
            "rows that are updated or deleted cannot be looked up in a table",
            node.span,
            detail="By the time of an update, the table may have another row than the one that was joined.",
            hint=REGULAR_JOIN,
        )
        for node in walk(plan)
        if node.looked_up and node.changelog != INSERT_ONLY
    ]
    if problems:
        raise ScriptError(problems)
    return plan
