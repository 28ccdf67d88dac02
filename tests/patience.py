"""How long a test waits for what must come."""

from typing import Final

PATIENCE: Final = 300
"""Seconds after which a wait counts as a hang: far more than the slowest machine needs, for a test times nothing."""
