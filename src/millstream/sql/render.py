"""Statements as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.sql.statements import Statement


def render(statement: Statement) -> str:
    raise NotImplementedError
