"""Functions a script brings along."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class UserFunction:
    name: str
    span: Span
