"""How often a job must reach all of its state, whether rows come or not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_PER_TTL: Final = 2
_SHORTEST: Final = timedelta(seconds=1)
"""A tick is a batch, and the next one would come before it ends."""
_LONGEST: Final = timedelta(hours=1)
"""Waiting begins anew when a job restarts."""


def tick_interval(state_ttls: Collection[timedelta]) -> timedelta | None:
    """None if time alone changes nothing in the state."""
    return min(max(min(state_ttls) / _PER_TTL, _SHORTEST), _LONGEST) if state_ttls else None
