"""Parameters are replaced, and positions still point into what the user wrote."""

from __future__ import annotations

import pytest

from millstream.errors import Code, ScriptError
from millstream.source import SourceText
from millstream.sql.script import expand


def test_parameter_in_string_and_outside() -> None:
    script = expand(SourceText("s", "SELECT '${a}' FROM ${b}"), {"a": "x", "b": "a_table"})
    assert script.text == "SELECT 'x' FROM a_table"


def test_parameter_in_comment_is_left_alone() -> None:
    text = "-- ${nobody}\nSELECT 1 /* ${nobody} */"
    assert expand(SourceText("s", text), {}).text == text


def test_dashes_inside_a_string_are_no_comment() -> None:
    assert expand(SourceText("s", "SELECT 'a--${b}'"), {"b": "c"}).text == "SELECT 'a--c'"


def test_all_missing_parameters_are_reported() -> None:
    with pytest.raises(ScriptError) as caught:
        expand(SourceText("s", "${one}\n'${two}'"), {"three": "3"})
    assert [(d.code, d.span.line) for d in caught.value.diagnostics if d.span] == [
        (Code.MISSING_PARAMETER, 1),
        (Code.MISSING_PARAMETER, 2),
    ]


@pytest.mark.parametrize("value", ["", "x", "a much longer value than its name"])
def test_span_after_and_of_a_parameter(value: str) -> None:
    source = SourceText("s", "abc ${name} def ${name} ghi")
    script = expand(source, {"name": value})
    at = script.text.index("def")
    assert source.text[script.span(at, at + 3).start :][:3] == "def"
    at = script.text.index("ghi")
    span = script.span(at, at + 3)
    assert source.text[span.start : span.end] == "ghi"
    if value:
        span = script.span(4, 4 + len(value))
        assert source.text[span.start : span.end] == "${name}"
