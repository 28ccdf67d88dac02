"""Reading a script test: SQL and Kafka messages in the order in which they happen.

    # page views are counted per region                 the first line says what is tested
    $ topic name=views partitions=2                     a real topic; its real name is ${views} in SQL
    > CREATE TABLE views (…) WITH ('topic' = '${views}',
        'properties.bootstrap.servers' = '${brokers}', …);
    > INSERT INTO totals SELECT …;                      runs until the test ends
    $ produce topic=views                               one message a line, see script_messages
    {"region":"north"}
    $ await caught-up
    $ consume topic=totals as=folded
    north => {"region":"north","n":1}
    ! INSERT INTO plain SELECT …;                       must fail
    code: M3001
    ? SHOW TABLES;                                      shows these lines
    table name
    ----------
    views

A statement ends with the first line that ends with `;` and has no indented line after it, so that one block
can hold several. Blank lines and lines that begin with `#` say nothing. Other steps: `$ restart`, `$ shown` (what
jobs that run on have shown since), and `$ await failure [job=…]`, which takes `code:` lines. `# known-bug: …` says
why the test cannot pass yet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.source import SourceText
from millstream.testing.script_action import parse_action
from millstream.testing.script_lines import ScriptLines
from millstream.testing.script_steps import Answer, CreateTopic, Execute, Refuse, ScriptFile

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.testing.script_steps import Step

_PURPOSE: Final = re.compile(r"#\s+(\S.*)")
_KNOWN_BUG: Final = re.compile(r"^#\s*known-bug:\s*(\S.*)$", re.MULTILINE)


def read_script_file(path: Path) -> ScriptFile:
    return parse_script_file(SourceText(str(path), path.read_text(encoding="utf-8")))


def find_known_bug(text: str) -> str | None:
    """Why the test in this text cannot pass yet, even if the rest of it cannot be parsed."""
    found = _KNOWN_BUG.search(text)
    return found.group(1) if found else None


def parse_script_file(source: SourceText) -> ScriptFile:
    """The steps of a script test; a ScriptError names the file and the line that cannot be parsed."""
    lines = ScriptLines(source)
    purpose = _PURPOSE.match(lines.take())
    if purpose is None:
        raise lines.error(1, "the first line says what is tested: # purpose")
    steps: list[Step] = []
    topics: set[str] = set()
    while lines.skip_to_next():
        step = _parse_step(lines)
        _check_topic(step, topics, lines)
        steps.append(step)
    if not steps:
        raise lines.error(1, "the test has no steps")
    return ScriptFile(source, purpose.group(1).strip(), find_known_bug(source.text), tuple(steps))


def _parse_step(lines: ScriptLines) -> Step:
    line, mark = lines.number, lines.peek()[0]
    match mark:
        case "$":
            return parse_action(lines)
        case ">":
            return Execute(line, _sql(lines))
        case "?":
            sql = _sql(lines)
            return Answer(line, sql, *lines.read_lines())
        case "!":
            sql = _sql(lines)
            codes, contains, block = lines.read_error(line)
            return Refuse(line, sql, codes, contains, block)
        case _:
            raise lines.error(line, "expected a step: a line that begins with $, >, ? or !")


def _sql(lines: ScriptLines) -> str:
    first = lines.number
    written = [f" {lines.take()[1:]}"]
    while not written[-1].rstrip().endswith(";") or lines.at_indented():
        if lines.at_end() or lines.at_step():
            raise lines.error(first, "the statement does not end: no line of it ends with ;")
        written.append(lines.take())
    # Empty lines before it give every error in the SQL the correct line of the file.
    return "\n" * (first - 1) + "\n".join(written)


def _check_topic(step: Step, topics: set[str], lines: ScriptLines) -> None:
    if isinstance(step, CreateTopic):
        if step.name in topics:
            raise lines.error(step.line, f'topic "{step.name}" is created twice')
        topics.add(step.name)
        return
    topic = getattr(step, "topic", None)
    if topic is not None and topic not in topics:
        raise ScriptError(
            Diagnostic(
                Code.SYNTAX,
                f'topic "{topic}" is not created before this line',
                lines.span(step.line),
                hint=f"Add a line above: $ topic name={topic}",
            )
        )
