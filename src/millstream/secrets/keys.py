"""Which keys of options and settings, and which names of parameters, hold secrets."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Final

_ANYWHERE: Final = re.compile(
    r"passw(or)?d|passphrase|pwd|secret|credential|jaas|auth-params|user[._-]info|(^|[._-])sas([._-]|$)"
    r"|(api|access|account|private|service)[._-]?key|(signing|encryption|master|shared)[._-]?key$"
    r"|(?<!by)(?<!com)pass$|(^|[._-])(pw|jwt)$|(basic|bearer)[._-]?auth$"
)
_LAST_PART: Final = re.compile(r"token|pem$")
_KEY_MATERIAL: Final = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates", "key.pem")
_NUMBERED: Final = re.compile(r"properties\.\d+\.value$")
"""Another option says what this is the value of, `connector.properties.0.key`: it may be a password."""
_PARTS: Final = re.compile(r"[._-]")
_OFTEN_MISTYPED: Final = ("password", "passphrase", "credentials")
_ALIKE: Final = 0.8
JAVA_PATTERN: Final = "(?i)" + "|".join(
    (_ANYWHERE.pattern, r"(^|\.)[^.]*(token|pem)[^.]*$", *(re.escape(key) for key in _KEY_MATERIAL), r"(^|\.)url$")
)
"""The same pattern for Java, where the key alone decides; credentials inside addresses are not searched for there."""


@lru_cache(maxsize=4096)
def is_secret(key: str) -> bool:
    """Whether a key's value must not be shown; a misspelt key counts as the one that it resembles.

    >>> is_secret("properties.ssl.key.pasword"), is_secret("properties.sasl.oauthbearer.token.endpoint.url")
    (True, False)
    """
    lowered = key.lower()
    return bool(
        _ANYWHERE.search(lowered)
        or _LAST_PART.search(lowered.rpartition(".")[2])
        or _NUMBERED.search(lowered)
        or lowered.endswith(_KEY_MATERIAL)
        or any(difflib.get_close_matches(part, _OFTEN_MISTYPED, 1, _ALIKE) for part in _PARTS.split(lowered))
    )
