"""How long a test waits."""

from typing import Final

PATIENCE: Final = 300
"""Seconds after which a wait counts as a hang: far more than the slowest machine needs, since tests measure no time."""
