"""The entry of an error code in the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.errors import Code


@dataclass(frozen=True, slots=True)
class Explanation:
    title: str
    cause: str
    fix: str
    example: str
    """The name of a golden screen that shows the code."""


@dataclass(frozen=True, slots=True)
class Group:
    """The codes that share their first digit."""

    title: str
    about: str
    explanations: Mapping[Code, Explanation]
