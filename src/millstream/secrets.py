"""Which keys hold secrets, and how text that names one is shown."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MASK: Final = "******"

_ANYWHERE: Final = re.compile(
    r"passw(or)?d|passphrase|pwd|secret|credential|jaas|auth-params|user[._-]info|(^|[._-])sas([._-]|$)"
    r"|(api|access|account|private|service)[._-]?key"
)
_LAST_PART: Final = re.compile(r"token|pem$")
_KEY_MATERIAL: Final = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates", "key.pem")
JAVA_PATTERN: Final = "(?i)" + "|".join(
    (_ANYWHERE.pattern, r"(^|\.)[^.]*(token|pem)[^.]*$", *(re.escape(key) for key in _KEY_MATERIAL), r"(^|\.)url$")
)
"""The same for Java, where a key alone decides; what credentials an address may hold is not looked for there."""
_GAP: Final = r"(?>\s|--[^\n]*|/\*(?!\+)(?>[^*]|\*(?!/))*\*/)*"
_PAIR: Final = re.compile(
    rf"""(?:'(?P<key>[^'\s=,()]+)'|"(?P<doubled>[^"'\s=,()]+)"|(?<![\w.-])(?P<bare>[\w-]+(?:\.[\w-]+){{2,}})(?={_GAP}=))
        {_GAP}(?P<sign>[=:>]*){_GAP}""",
    re.VERBOSE,
)
"""A key and all up to its value; keys without quotes have dots, or a compared column would be one.

Found in any text, also where quotes do not match; `_TOKENS` finds what takes a correct reading of them.
"""
_TOKENS: Final = re.compile(
    r"""(?P<comment>--[^\n]*|/\*(?!\+).*?\*/)
      | '(?P<text>(?:[^']|'')*+)'
      | (?P<sign>[=:>]+)
      | (?P<end>[,;)]|\*/)
      | (?P<other>"[^"\n]*"|`[^`]*`|[^\s'"`,;()=:>/*-]+|\S)""",
    re.DOTALL | re.VERBOSE,
)
_QUOTED_VALUE: Final = re.compile(r"'(?P<inside>(?:[^']|'')*)")
_UNQUOTED_VALUE: Final = re.compile(r"\"(?P<inside>[^\"\n]*)|(?P<bare>[^\s,()'\"][^'\n]*)")
_UNSIGNED_VALUE: Final = re.compile(r"\"(?P<inside>[^\"\n]*)|(?P<bare>[^\s,()'\"]+)(?=\s*(?:[,)]|$))")
_CREDENTIALS: Final = re.compile(r"://(?:[^\s'\"@/:,]{0,200}:)?(?P<inside>[^\s'\"]{0,5000})@")
_CREDENTIALS_IN_VALUE: Final = re.compile(r"://(?:[^\s@/:,]{0,200}:)?(?P<inside>(?:(?!://).){0,5000})@", re.DOTALL)
"""Where all of the text is known to be one value: blanks and quotes in it end nothing."""
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
    for place in secret_places(text):
        first, last = max(place[0], taken), min(place[1], end)
        if first < last:
            shown += (text[taken:first], MASK)
            taken = last
    return "".join([*shown, text[taken:end]])


def without_credentials(value: str) -> str:
    """An option's value for anyone's eyes, where its key tells of no secret.

    >>> without_credentials("http://user:tiger@registry:8081")
    'http://user:******@registry:8081'
    """
    shown = concealed("'" + value.replace("'", "''") + "'")[1:-1].replace("''", "'")
    return _masked(_CREDENTIALS_IN_VALUE, shown)


def secrets_in_urls(value: str) -> Iterator[str]:
    for pattern in (_CREDENTIALS, _CREDENTIALS_IN_VALUE):
        yield from (found["inside"] for found in pattern.finditer(value) if found["inside"])


def without_url_credentials(message: str) -> str:
    """A message that quotes an address, wherever that came from.

    >>> without_url_credentials('"ftp://me:tiger@registry" is not the address of a registry')
    '"ftp://me:******@registry" is not the address of a registry'
    """
    return _masked(_CREDENTIALS, message)


def _masked(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: found[0].removesuffix(f"{found['inside']}@") + f"{MASK}@", text)


def without_secrets(message: str, text: str) -> str:
    """A message about script text, in which no secret of the text is quoted, be it whole or cut off."""
    return without_values(message, _secrets(text))


def without_values(message: str, values: Iterable[str]) -> str:
    for value in values:
        message = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, message)
        if len(value) > _SHORTEST_PREFIX:
            message = re.sub(rf"(?<!\w){re.escape(value[:_SHORTEST_PREFIX])}[^\n]*?…", MASK, message)
    return message


def _secrets(text: str) -> Iterator[str]:
    """What is secret, and the words of what stands without quotes, since a message may be about one of them."""
    for start, end in secret_places(text):
        if value := text[start:end].strip():
            yield value
            if text[start - 1] != "'":
                yield from re.findall(r"\w{3,}", value)


@lru_cache(maxsize=8)
def secret_places(text: str) -> tuple[tuple[int, int], ...]:
    """From where to where secrets stand in a script, in order; those that touch are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((*_places_in_any_text(text), *_places_between_tokens(text))):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return tuple(merged)


def _places_in_any_text(text: str) -> Iterator[tuple[int, int]]:
    for pair in _PAIR.finditer(text):
        if is_secret(pair["key"] or pair["doubled"] or pair["bare"]):
            yield from _value_places(text, pair)
    for found in _CREDENTIALS.finditer(text):
        yield found.span("inside")
    for found in _ENTRY.finditer(text):
        if is_secret(found["key"]):
            yield found.span("inside")


def _places_between_tokens(text: str) -> Iterator[tuple[int, int]]:
    """What stands behind `'key' =`, up to a comma, a parenthesis or the next key: `('a')`, `x'0F'`, `'a' 'b'`."""
    tokens = [token for token in _TOKENS.finditer(text) if token["comment"] is None]
    for at, (key, sign) in enumerate(pairwise(tokens)):
        if key["text"] is None or sign["sign"] is None or not is_secret(key["text"]):
            continue
        value = _value_tokens(tokens, at + 2)
        if len(value) == 1 and value[0]["text"] is not None:
            yield value[0].span("text")
        elif value:
            yield value[0].start(), value[-1].end()


def _value_tokens(tokens: Sequence[re.Match[str]], first: int) -> Sequence[re.Match[str]]:
    opened = 0
    for at in range(first, len(tokens)):
        opened += tokens[at].group() == "("
        is_key = tokens[at]["text"] is not None and at + 1 < len(tokens) and tokens[at + 1]["sign"] is not None
        if (tokens[at]["end"] and not opened) or (is_key and at > first):
            return tokens[first:at]
        opened -= tokens[at].group() == ")"
    return tokens[first:]


def _value_places(text: str, pair: re.Match[str]) -> Iterator[tuple[int, int]]:
    value = _QUOTED_VALUE.match(text, pair.end())
    if value is None:
        value = (_UNQUOTED_VALUE if pair["sign"] else _UNSIGNED_VALUE).match(text, pair.end())
    if value is not None and value["inside"] is not None:
        yield value.span("inside")
    elif value is not None:
        yield value.start(), value.start() + len(value.group().rstrip(" \t\r,);"))
