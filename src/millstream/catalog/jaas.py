"""`sasl.jaas.config`: the credentials for a Java login module."""

from __future__ import annotations

import re
from typing import Final

_SETTING: Final = re.compile(r"""(?<=\s)([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")


def jaas_settings(text: str) -> dict[str, str]:
    """The settings after the class and its flag.

    >>> jaas_settings('x.PlainLoginModule required username="ann" password=p;')
    {'username': 'ann', 'password': 'p'}
    """
    return {name: _unquote(value) for name, value in _SETTING.findall(text)}


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text
