"""What in a text is quoted, a comment, a hint or a parameter: below all that reads SQL, the dialect included."""

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
"""What stands in a script apart from plain words: in quotes nothing is a comment, in comments nothing a quote."""

QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEX_STRING})
