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

__all__ = ["JAVA_PATTERN", "MASK", "is_secret", "mask", "mask_all", "mask_setting", "without_secrets_of"]

_SHORTEST: Final = 4
"""A password of three letters would match in half of all words."""


def mask(entry: OptionEntry) -> str:
    """The entry's value, masked if it is secret."""
    return mask_setting(entry.key, entry.value)


def mask_setting(key: str, value: str) -> str:
    """A setting's value, masked if it is secret."""
    return MASK if is_secret(key) else without_credentials(value)


def mask_all(entries: Iterable[OptionEntry]) -> tuple[OptionEntry, ...]:
    """A WITH clause with its secrets masked, as SHOW CREATE TABLE writes it."""
    return tuple(replace(entry, value=mask(entry)) for entry in entries)


def without_secrets_of(tables: Iterable[CatalogTable], text: str, settings: Iterable[tuple[str, str]] = ()) -> str:
    """Text from a component that knows the secrets of these tables and settings, with the secrets masked."""
    options = [(entry.key, entry.value) for table in tables for entry in table.options]
    values = {secret for key, value in (*options, *settings) for secret in _secrets(key, value)}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _secrets(key: str, value: str) -> Iterator[str]:
    found = [*secrets_in_urls(value)]
    if is_secret(key):
        found += [value, *(part for name, part in jaas_settings(value).items() if is_secret(name))]
    yield from (value for value in found if len(value) >= _SHORTEST)
