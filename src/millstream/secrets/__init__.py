"""Which keys hold secrets, and how text that contains one is masked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from millstream.secrets.keys import JAVA_PATTERN, is_secret
from millstream.secrets.places import CREDENTIALS, secret_places, secret_values, secrets_in_url_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "JAVA_PATTERN",
    "MASK",
    "concealed",
    "is_secret",
    "secret_places",
    "secrets_in_urls",
    "without_credentials",
    "without_secrets",
    "without_url_credentials",
    "without_values",
]

MASK: Final = "******"

_CREDENTIALS_IN_VALUE: Final = re.compile(r"://(?:[^\s@/:,]{0,200}:)?(?P<inside>(?:(?!://).){0,5000})@", re.DOTALL)
"""For text that is known to be a single value: spaces and quotes do not end it."""
_SHORTEST_PREFIX: Final = 8


def conceal(text: str, start: int = 0, end: int | None = None) -> str:
    """A part of a script with its secrets masked, all by the same number of asterisks; it need not be valid SQL.

    >>> conceal("WITH ('properties.ssl.key.password' = 'tiger')")
    "WITH ('properties.ssl.key.password' = '******')"
    """
    end = len(text) if end is None else end
    shown: list[str] = []
    taken = start
    for place in secret_places(text):
        first, last = max(place[0], taken), min(place[1], end)
        if first < last:
            shown += (text[taken:first], MASK)
            taken = last
    return "".join([*shown, text[taken:end]])


def without_credentials(value: str) -> str:
    """An option's value with its secrets masked, where its key is not that of a secret.

    >>> without_credentials("http://user:tiger@registry:8081")
    'http://user:******@registry:8081'
    """
    shown = conceal("'" + value.replace("'", "''") + "'")[1:-1].replace("''", "'")
    return _mask(_CREDENTIALS_IN_VALUE, shown)


def secrets_in_urls(value: str) -> Iterator[str]:
    for pattern in (CREDENTIALS, _CREDENTIALS_IN_VALUE):
        yield from (found["inside"] for found in pattern.finditer(value) if found["inside"])
    yield from (found["inside"] for found in secrets_in_url_parameters(value))


def without_url_credentials(message: str) -> str:
    """A message that quotes an address from anywhere.

    >>> without_url_credentials('"ftp://me:tiger@registry" is not the address of a registry')
    '"ftp://me:******@registry" is not the address of a registry'
    """
    for found in reversed([*secrets_in_url_parameters(message)]):
        message = message[: found.start("inside")] + MASK + message[found.end("inside") :]
    return _mask(CREDENTIALS, message)


def _mask(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: found[0].removesuffix(f"{found['inside']}@") + f"{MASK}@", text)


def without_secrets(message: str, text: str, at: int | None = None) -> str:
    """A message about script text, without any secret of the text, whole or truncated.

    `at` is the position in the text that the message is about.
    """
    return without_values(message, secret_values(text, at))


def without_values(message: str, values: Iterable[str]) -> str:
    for value in values:
        message = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, message)
        if len(value) > _SHORTEST_PREFIX:
            message = re.sub(rf"(?<!\w){re.escape(value[:_SHORTEST_PREFIX])}[^\n]*?…", MASK, message)
    return message
