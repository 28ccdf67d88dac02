"""docs/reference/errors.md: the catalogue of errors with the golden screens as examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.error_catalogue import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.error_catalogue import Explanation, Group
    from millstream.errors import Code

GOLDEN: Final = Path(__file__).parents[2] / "tests" / "golden"
SCREENS: Final = (GOLDEN / "errors", GOLDEN / "screens")

_PLACE: Final = re.compile(r"^ +--> .*:(\d+):\d+$", re.MULTILINE)
_INTRODUCTION: Final = """\
# Errors

<!-- Written by `make docs` from src/millstream/error_catalogue and tests/golden. -->

An error has a stable code, a line that says what is wrong, the place in the script, and where they help a detail (why)
and a hint (what to do). All problems of a script are reported at once.

Exit codes: 2 if the script or an argument is wrong (M1, M2, M3), 1 for everything else.
`--verbose` adds the original error of Kafka or Spark. In Python, errors are raised as `ScriptError`, `BrokerError`,
`JobError` or `SetupError`, all subclasses of `MillstreamError`; `error.code` is the code, and `error.as_json()` returns
`{"errors": [{code, title, primary, detail, hint, place}]}`, with `place` as
`{file, line, column, end_line, end_column, text}`.
"""


def errors_page() -> str:
    return "\n".join((_INTRODUCTION, *_contents(), *(line for group in GROUPS for line in _section(group))))


def example(name: str) -> Path | None:
    """The golden screen of that name."""
    return next((path for folder in SCREENS if (path := folder / f"{name}.txt").exists()), None)


def diagnostics_of(code: Code, screen: str) -> str:
    """The part of a screen that shows the code."""
    shown = re.split(r"\n\n(?=error\[)", screen.rstrip("\n"))
    return "\n\n".join(diagnostic for diagnostic in shown if diagnostic.startswith(f"error[{code}]"))


def _contents() -> Iterator[str]:
    for group in GROUPS:
        yield f"- {group.title}"
        for code, explanation in group.explanations.items():
            yield f"  - [{code}](#{code.lower()}): {explanation.title}"
    yield ""


def _section(group: Group) -> Iterator[str]:
    yield from (f"## {group.title}", "", group.about, "")
    for code, explanation in group.explanations.items():
        yield from (f'<a id="{code.lower()}"></a>', "", f"### {code}: {explanation.title}", "")
        yield from (explanation.cause, "")
        yield from _example(code, explanation)
        yield from (f"**What to do.** {explanation.fix}", "")


def _example(code: Code, explanation: Explanation) -> Iterator[str]:
    path = example(explanation.example)
    assert path is not None, f"no golden screen is called {explanation.example}, which the entry of {code} names"
    screen = diagnostics_of(code, path.read_text(encoding="utf-8"))
    script = path.with_suffix(".sql")
    if script.exists():
        yield from ("```sql", *_statements_at(script.read_text(encoding="utf-8"), screen), "```", "")
    yield from ("```text", screen, "```", "")


def _statements_at(script: str, screen: str) -> Iterator[str]:
    """The statements that the screen points at: the rest of the script is the same everywhere."""
    marked = {int(number) for number in _PLACE.findall(screen)}
    statement: list[str] = []
    lines = script.rstrip("\n").split("\n")
    first = 1
    for number, line in enumerate(lines, start=1):
        statement.append(line)
        if line.endswith(";") or number == len(lines):
            if marked & set(range(first, number + 1)):
                yield from statement
            statement, first = [], number + 1
