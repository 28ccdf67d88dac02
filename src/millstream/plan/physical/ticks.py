"""How often a job must reach all of its kernels, whether rows come or not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_PER_WAIT: Final = 2
_SHORTEST: Final = timedelta(seconds=1)
"""A tick is a batch, and the next one would come before it ends."""
_LONGEST: Final = timedelta(hours=1)
"""Waiting begins anew when a job restarts."""


def tick_interval(waits: Collection[timedelta]) -> timedelta | None:
    """For these TTLs and idle timeouts; None if nothing happens just because time passes."""
    return min(max(min(waits) / _PER_WAIT, _SHORTEST), _LONGEST) if waits else None
