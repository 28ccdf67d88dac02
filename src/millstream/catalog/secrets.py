"""Options as they may be shown: the values of secret ones are masked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.secrets import MASK, is_secret, without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.sql.statements import OptionEntry

__all__ = ["MASK", "is_secret", "masked", "masked_all"]


def masked(entry: OptionEntry) -> str:
    """The entry's value for anyone's eyes."""
    return MASK if is_secret(entry.key) else without_credentials(entry.value)


def masked_all(entries: Iterable[OptionEntry]) -> tuple[OptionEntry, ...]:
    """A WITH clause for anyone's eyes, as SHOW CREATE TABLE writes it."""
    return tuple(replace(entry, value=masked(entry)) for entry in entries)
