"""Phrases that must not come back: `python -m tools.words` lists where they are used, and fails if there are any.

Each has a plainer form. The check is case-insensitive and looks at whole words in sources, pages and the README.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]

PLAINER: Final[dict[str, str]] = {
    r"waits since": "has been waiting since",
    r"is no operator": "is not an operator",
    r"(put|is) a blank": "a space",
    r"behind the last message": "after the latest message",
    r"takes? a condition, and this is": "needs a BOOLEAN condition, not",
    r"stands? twice": "appears twice",
    r"(cannot|can|may) stand here": "can be used here",
    r"as anyone may see it": "with secrets masked",
    r"for anyone's eyes": "with secrets masked",
    r"taken back": "retracted",
    r"(is|are) made up": "generated",
    r"made-up rows": "generated rows",
    r"only grows": "insert-only",
    r"surroundings": "context, or environment",
    r"made anew": "created again",
    r"goes round in a circle": "is circular",
    r"it is not what its checksum says": "it does not match its checksum",
    r"is to be told": "is reported",
    r"exists already": "already exists",
    r"has a value that it cannot take": "has an invalid value",
    r"hangs? up on": "disconnects",
    r"what came of it": "the result",
    r"slips? of the pen": "a typo",
    r"be they": "whether they are",
    r"in whichever (order|role|case)": "in any order, role or case",
    r"in (the|its) midst": "in the middle",
    r"not ours to (see|set|limit)": "the user may not see it",
    r"(comes?|came|is come) by (a|the|this) (place|failpoint)": "reaches",
    r"(had|has) to say": "the log, or the message",
    r"has a hand in": "can modify",
    r"(is|are) told (once|of|beside|to the user|with its place)": "is reported",
    r"told (by name|in the user's terms)": "reported, or translated",
    r"(had|was) told their": "knows",
    r"single values of": "individual values of",
    r"a producer of ours": "our own producer",
    r"producers of ours": "our own producers",
    r"without a word": "silently",
    r"says farewell": "leaves",
    r"done again (when|after|on)": "repeated",
    r"set anew": "replaced",
    r"the time is over": "a timeout",
    r"came to nothing": "failed, or wrote nothing",
    r"(what|who) stands? behind it": "its source",
    r"however deep they lie": "at any depth",
    r"lest": "so that … does not",
    r"came about": "was established, or happened",
    r"(is|are) no more": "has been removed",
    r"(was|were) not come by": "could not be found",
    r"is come to": "has been reached",
    r"(cannot|could not) be had": "is not available",
    r"(is|are) there already": "already exists",
    r"(is|are) not what they should be": "does not match",
    r"has not the": "lacks the",
    r"and its kin": "and related …",
    r"if it stays so": "if the problem persists",
    r"(is|are) handed (over|it) as (it is|they are)": "is passed on unchanged",
    r"say(s)? nothing of it": "does not mention it",
    r"it is not said": "it is not configured, or not declared",
    r"each (time )?after (a longer|the same) while": "after a longer, or the same delay",
    r"not the line that it was": "its content has changed",
    r"has no one spelling": "has no unique encoding",
    r"(the last|this) one holds": "the last one counts",
    r"goes on with a wrong": "continues with a wrong",
}
"""Regular expressions for phrases, with what to write instead."""

_PATTERN: Final = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in PLAINER), re.IGNORECASE)


def find_phrases(text: str) -> Iterator[tuple[int, str]]:
    """The line number and the phrase of each use."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in _PATTERN.finditer(line):
            yield number, found[0]


def suggest(phrase: str) -> str:
    return next(better for known, better in PLAINER.items() if re.fullmatch(known, phrase, re.IGNORECASE))


def _files() -> Iterator[Path]:
    yield ROOT / "README.md"
    for folder, suffix in (("src", "py"), ("docs", "md")):
        yield from sorted((ROOT / folder).rglob(f"*.{suffix}"))


def main() -> int:
    count = 0
    for file in _files():
        for number, phrase in find_phrases(file.read_text(encoding="utf-8")):
            count += 1
            sys.stderr.write(f'{file.relative_to(ROOT)}:{number}: "{phrase}": write "{suggest(phrase)}"\n')
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
