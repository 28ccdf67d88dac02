"""Whatever the text, reading it ends, with statements or with errors that can be shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.sql.language import READERS, REFUSED
from millstream.sql.parser import parse_script
from millstream.sql.script import expand

TESTS = Path(__file__).parents[2]
SCRIPTS = [
    path.read_text(encoding="utf-8")
    for folder in ("unit/sql/examples", "golden/plans", "golden/errors")
    for path in sorted(TESTS.joinpath(folder).glob("*.sql"))
]
SOUP = [
    *READERS, *REFUSED,
    *("a", "`b`", "'c'", "1", "2.5", "x'0F'", "${x}", "t", "INT", "ROW<", "ARRAY<", "DECIMAL(10, 2)", "TIMESTAMP(3)"),
    *("(", ")", ",", ";", "'", "`", '"', "<", ">", "=", "==", ".", "*", "[", "]", "{#", "{{", "{%", "@", "\\", "\x00"),
    *("/*", "*/", "/*+", "--", "\n", "\r", "\t", "表", "e\u0301"),
    *("PRIMARY KEY", "NOT", "NULL", "ENFORCED", "CONSTRAINT", "WATERMARK FOR", "AS", "METADATA", "FROM", "VIRTUAL"),
    *("WITH", "LIKE", "INCLUDING", "ALL", "OPTIONS", "PARTITIONED BY", "COMMENT", "BEGIN", "END", "SELECT", "VALUES"),
    *("WHERE", "GROUP BY", "CASE", "WHEN", "JOIN", "UNION", "INTERVAL", "CAST", "OVER", "EXISTS", "IN", "BETWEEN"),
]  # fmt: skip


@st.composite
def mutated_scripts(draw: st.DrawFn) -> str:
    """A script that works, or nearly, with pieces taken out, doubled, swapped and put in."""
    text = draw(st.sampled_from(SCRIPTS))
    for _ in range(draw(st.integers(1, 4))):
        first, second = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        near = min(first + draw(st.integers(0, 12)), len(text))
        piece = draw(st.sampled_from(SOUP))
        changed = (
            text[:first] + text[near:],
            text[:first] + text[second:],
            text[:near] + text[first:],
            text[:first] + text[second:] + text[first:second],
            f"{text[:first]} {piece} {text[first:]}",
        )
        text = draw(st.sampled_from(changed))
    return text


anything = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(SOUP), max_size=30).map(" ".join),
    mutated_scripts(),
)


@given(anything)
def test_no_text_ends_in_a_traceback(text: str) -> None:
    """Anything but a ScriptError fails this test, and so does one that points nowhere."""
    source = SourceText("s", text)
    try:
        parsed = parse_script(expand(source, {"x": "y"}))
    except ScriptError as error:
        problems = error.diagnostics
        assert problems
    else:
        problems = parsed.problems
    for problem in problems:
        assert problem.span is not None
        assert 0 <= problem.span.start < max(len(text), 1)
        assert problem.render().startswith("error[M")


@given(anything)
def test_no_text_is_compiled_to_a_traceback(text: str) -> None:
    shown = "error[M"
    try:
        compile_script(SourceText("s", text), {"x": "y"}, {})
    except ScriptError as error:
        shown = str(error)
    assert shown.startswith("error[M")
