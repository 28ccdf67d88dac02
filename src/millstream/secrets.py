"""Which keys hold secrets, and how text that names one is shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK: Final = "******"

_ANYWHERE: Final = re.compile(
    r"passw(or)?d|secret|credential|jaas|api-?key|auth-params|user[.-]info|private[.-]key|service-key"
)
_LAST_PART: Final = re.compile(r"token|pem$")
_KEY_MATERIAL: Final = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates", "key.pem")
_PAIR: Final = re.compile(r"'(?P<key>[^'\s]+)'\s*=?\s*(?=')")
_VALUE: Final = re.compile(r"'(?P<inside>(?:[^']|'')*)")


def is_secret(key: str) -> bool:
    """Whether a key's value must not be shown.

    >>> is_secret("properties.ssl.key.password"), is_secret("properties.sasl.oauthbearer.token.endpoint.url")
    (True, False)
    """
    lowered = key.lower()
    return bool(
        _ANYWHERE.search(lowered) or _LAST_PART.search(lowered.rpartition(".")[2]) or lowered.endswith(_KEY_MATERIAL)
    )


def concealed(text: str) -> str:
    """Script text of the same width, with the values of secret keys as stars; it need not be correct SQL.

    >>> concealed("WITH ('properties.ssl.key.password' = 'tiger')")
    "WITH ('properties.ssl.key.password' = '*****')"
    """
    shown = text
    for start, end in _secret_places(text):
        shown = shown[:start] + re.sub(r"[^\n]", "*", text[start:end]) + shown[end:]
    return shown


def without_secrets(message: str, text: str) -> str:
    """A message about script text, in which no secret of the text is quoted."""
    for start, end in _secret_places(text):
        if value := text[start:end].strip():
            message = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, message)
    return message


def _secret_places(text: str) -> Iterator[tuple[int, int]]:
    for pair in _PAIR.finditer(text):
        value = _VALUE.match(text, pair.end()) if is_secret(pair["key"]) else None
        if value is not None:
            yield value.span("inside")
