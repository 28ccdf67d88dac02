"""What is wrong with a pattern that is a literal, in words: found before anything runs."""

from __future__ import annotations

import re
from typing import Final

_IN_JAVA_TOO: Final = ("missing )", "unbalanced parenthesis", "unterminated character set")
"""Complaints of Python that Java's regular expressions share; they differ in much else."""
_QUOTED: Final = re.compile(r"'[^']*'")
_REFUSED_LETTERS: Final = frozenset("YwWuecABnNp")
"""Those for weeks, and those that Spark keeps for itself."""


def regex_problem(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except re.error as error:
        if error.msg.startswith(_IN_JAVA_TOO):
            return f"regular expression cannot be read: {error.msg}"
    return None


def format_problem(pattern: str) -> str | None:
    plain = _QUOTED.sub("", pattern)
    if "'" in plain:
        return "a quote in the format is not closed"
    refused = sorted(_REFUSED_LETTERS & set(plain))
    return f"the format has the letter {refused[0]}, which is not supported" if refused else None
