"""Options as they may be shown: the values of secret ones are masked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.secrets import MASK, is_secret

if TYPE_CHECKING:
    from millstream.sql.statements import OptionEntry

__all__ = ["MASK", "is_secret", "masked"]


def masked(entry: OptionEntry) -> str:
    """The entry's value for anyone's eyes."""
    return MASK if is_secret(entry.key) else entry.value
