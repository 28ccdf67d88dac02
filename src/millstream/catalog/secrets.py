"""Options as they may be shown: the values of secret ones are masked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.catalog.jaas import jaas_settings
from millstream.secrets import JAVA_PATTERN, MASK, is_secret, secrets_in_urls, without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.catalog.table import CatalogTable
    from millstream.sql.statements import OptionEntry

__all__ = ["JAVA_PATTERN", "MASK", "is_secret", "masked", "masked_all", "without_secrets_of"]

_SHORTEST: Final = 4
"""A password of three letters would be found in half the words of a message."""


def masked(entry: OptionEntry) -> str:
    """The entry's value for anyone's eyes."""
    return MASK if is_secret(entry.key) else without_credentials(entry.value)


def masked_all(entries: Iterable[OptionEntry]) -> tuple[OptionEntry, ...]:
    """A WITH clause for anyone's eyes, as SHOW CREATE TABLE writes it."""
    return tuple(replace(entry, value=masked(entry)) for entry in entries)


def without_secrets_of(tables: Iterable[CatalogTable], text: str) -> str:
    """What somebody else said of these tables, who was told their secrets."""
    values = {value for table in tables for entry in table.options for value in _secrets(entry)}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _secrets(entry: OptionEntry) -> Iterator[str]:
    found = [*secrets_in_urls(entry.value)]
    if is_secret(entry.key):
        found += [entry.value, *(value for key, value in jaas_settings(entry.value).items() if is_secret(key))]
    yield from (value for value in found if len(value) >= _SHORTEST)
