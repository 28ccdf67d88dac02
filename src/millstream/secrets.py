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
JAVA_PATTERN: Final = "(?i)" + "|".join(
    (_ANYWHERE.pattern, r"(^|\.)[^.]*(token|pem)[^.]*$", *(re.escape(key) for key in _KEY_MATERIAL), r"(^|\.)url$")
)
"""The same for Java, where a key alone decides; what credentials an address may hold is not looked for there."""
_PAIR: Final = re.compile(
    r"""(?:'(?P<key>[^'\s=,()]+)'|"(?P<doubled>[^"'\s=,()]+)"|(?<![\w.-])(?P<bare>[\w-]+(?:\.[\w-]+){2,})(?=\s*=))
        \s*(?P<sign>[=:>]*)\s*""",
    re.VERBOSE,
)
"""A key and all up to its value; keys without quotes have dots, or a compared column would be one."""
_QUOTED_VALUE: Final = re.compile(r"'(?P<inside>(?:[^']|'')*)")
_UNQUOTED_VALUE: Final = re.compile(r"\"(?P<inside>[^\"\n]*)|(?P<bare>[^\s,()'\"][^'\n]*)")
_UNSIGNED_VALUE: Final = re.compile(r"\"(?P<inside>[^\"\n]*)|(?P<bare>[^\s,()'\"]+)(?=\s*(?:[,)]|$))")
_CREDENTIALS: Final = re.compile(r"://(?:[^\s'\"@/:,]{0,200}:)?(?P<inside>[^\s'\"]{0,500})@")
_ENTRY: Final = re.compile(r"(?<=['\s,;])(?P<key>[\w-]+(?:\.[\w-]+)+):(?P<inside>[^'\n]*)")
"""`'basic.auth.user.info:user:password'`, as options that hold a map are written."""
_NUMBERED: Final = re.compile(r"properties\.\d+\.value$")
"""Another option says whose value it is, `connector.properties.0.key`: it may be a password."""
_SHORTEST_PREFIX: Final = 8


def is_secret(key: str) -> bool:
    """Whether a key's value must not be shown.

    >>> is_secret("properties.ssl.key.password"), is_secret("properties.sasl.oauthbearer.token.endpoint.url")
    (True, False)
    """
    lowered = key.lower()
    return bool(
        _ANYWHERE.search(lowered)
        or _LAST_PART.search(lowered.rpartition(".")[2])
        or _NUMBERED.search(lowered)
        or lowered.endswith(_KEY_MATERIAL)
    )


def concealed(text: str, start: int = 0, end: int | None = None) -> str:
    """A part of a script with stars for what is secret, as many for each; the script need not be correct SQL.

    >>> concealed("WITH ('properties.ssl.key.password' = 'tiger')")
    "WITH ('properties.ssl.key.password' = '******')"
    """
    end = len(text) if end is None else end
    shown: list[str] = []
    taken = start
    for first, last in sorted(_secret_places(text)):
        first, last = max(first, taken), min(last, end)  # noqa: PLW2901
        if first < last:
            shown += (text[taken:first], MASK)
            taken = last
    return "".join([*shown, text[taken:end]])


def without_credentials(value: str) -> str:
    """An option's value for anyone's eyes, where its key tells of no secret.

    >>> without_credentials("http://user:tiger@registry:8081")
    'http://user:******@registry:8081'
    """
    return concealed(f"'{value}'")[1:-1]


def secrets_in_urls(text: str) -> Iterator[str]:
    yield from (found["inside"] for found in _CREDENTIALS.finditer(text))


def without_url_credentials(message: str) -> str:
    """A message that quotes an address, wherever that came from.

    >>> without_url_credentials('"ftp://me:tiger@registry" is not the address of a registry')
    '"ftp://me:******@registry" is not the address of a registry'
    """
    return _CREDENTIALS.sub(lambda found: found[0].replace(f"{found['inside']}@", f"{MASK}@"), message)


def without_secrets(message: str, text: str) -> str:
    """A message about script text, in which no secret of the text is quoted, be it whole or cut off."""
    for value in _secrets(text):
        message = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, message)
        if len(value) > _SHORTEST_PREFIX:
            message = re.sub(rf"(?<!\w){re.escape(value[:_SHORTEST_PREFIX])}[^\n]*?…", MASK, message)
    return message


def _secrets(text: str) -> Iterator[str]:
    """What is secret, and the words of what stands without quotes, since a message may be about one of them."""
    for start, end in _secret_places(text):
        if value := text[start:end].strip():
            yield value
            if text[start - 1] != "'":
                yield from re.findall(r"\w{3,}", value)


def _secret_places(text: str) -> Iterator[tuple[int, int]]:
    for pair in _PAIR.finditer(text):
        if is_secret(pair["key"] or pair["doubled"] or pair["bare"]):
            yield from _value_places(text, pair)
    for found in _CREDENTIALS.finditer(text):
        yield found.span("inside")
    for found in _ENTRY.finditer(text):
        if is_secret(found["key"]):
            yield found.span("inside")


def _value_places(text: str, pair: re.Match[str]) -> Iterator[tuple[int, int]]:
    value = _QUOTED_VALUE.match(text, pair.end())
    if value is None:
        value = (_UNQUOTED_VALUE if pair["sign"] else _UNSIGNED_VALUE).match(text, pair.end())
    if value is not None and value["inside"] is not None:
        yield value.span("inside")
    elif value is not None:
        yield value.start(), value.start() + len(value.group().rstrip(" \t\r,);"))
