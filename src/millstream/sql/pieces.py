"""Finds quotes, comments, hints and parameters in a text; used by everything that parses SQL, including the dialect."""

from __future__ import annotations

import re
from typing import Final

from sqlglot.tokenizer_core import TokenType

PIECES: Final = re.compile(
    r"""(?P<quoted>'(?:[^']|'')*'|`[^`]*`)
      | (?P<hint>/\*\+)
      | (?P<hint_end>\*/)
      | (?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<parameter>\$\{[A-Za-z_][A-Za-z0-9_.-]*\})
      | (?P<open>['`]|/\*|\{\#)""",
    re.DOTALL | re.VERBOSE,
)
"""Everything in a script other than plain words: inside quotes there are no comments, and vice versa."""

QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEX_STRING})
