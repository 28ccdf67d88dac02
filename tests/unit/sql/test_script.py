"""Parameters are replaced, and positions still point into what the user wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlglot.tokenizer_core import TokenType

from millstream.errors import Code, ScriptError
from millstream.plan.program import Text, compile_script
from millstream.source import SourceText
from millstream.sql.lexer import read_tokens
from millstream.sql.script import expand

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize("value", ["", "x", "it's a much longer value than its name", "''''"])
@pytest.mark.parametrize("quote", ["'", "`"])
def test_span_after_and_of_a_quoted_parameter(value: str, quote: str) -> None:
    source = SourceText("s", f"abc {quote}${{name}}{quote} def {quote}${{name}}{quote} ghi")
    script = expand(source, {"name": value})
    for word in ("def", "ghi"):
        at = script.text.index(word)
        assert script.span(at, at + 3).text == word
    if value:
        written = value.replace(quote, quote * 2)
        assert script.text[5:].startswith(f"{written}{quote}")
        assert script.span(5, 5 + len(written)).text == "${name}"


@pytest.mark.parametrize("value", ["x", "a_much_longer_value_than_its_name", "'it''s'"])
def test_span_after_and_of_a_bare_parameter(value: str) -> None:
    source = SourceText("s", "abc ${name} def ${name} ghi")
    script = expand(source, {"name": value})
    for word in ("def", "ghi"):
        at = script.text.rindex(word)
        assert script.span(at, at + 3).text == word
    assert script.span(4, 4 + len(value)).text == "${name}"


@pytest.mark.parametrize(
    "value", ["it's", "'", "''", "'; DROP TABLE t; --", "a`b", "*/ x", "${other}", "a\nb", "\\'", "ü''"]
)
@pytest.mark.parametrize(("quote", "kind"), [("'", TokenType.STRING), ("`", TokenType.IDENTIFIER)])
@pytest.mark.parametrize("text", ["SELECT {}", "SELECT {} AS b", "SELECT * FROM t /*+ OPTIONS('a' = {}) */"])
def test_a_value_in_quotes_stays_inside(value: str, quote: str, kind: TokenType, text: str) -> None:
    quoted = f"{quote}<${{v}}>{quote}"
    tokens = read_tokens(expand(SourceText("s", text.format(quoted)), {"v": value}))
    plain = read_tokens(expand(SourceText("s", text.format(f"{quote}<v>{quote}")), {}))
    assert [token.token_type for token in tokens] == [token.token_type for token in plain]
    assert f"<{value}>" in [token.text for token in tokens if token.token_type is kind]


@pytest.mark.parametrize(
    "value", ["1", "-1", "2.5", "1e-3", ".5", "-.5", "orders", "a.b", "`a b`.`c``d`", "'it''s'", "x'0F'", "NULL", "día"]
)
def test_a_bare_value_is_one_name_number_or_literal(value: str) -> None:
    assert expand(SourceText("s", "SELECT ${v} FROM t"), {"v": value}).text == f"SELECT {value} FROM t"


@pytest.mark.parametrize(
    "value",
    [
        "", " ", "1; DROP TABLE t", "a b", "a, b", "a -- b", "a/* b", "'a' OR 'b'", "'a", "`a", "a'", "f(x)", "--1",
        "1 OR 1", "(1)", "a.", ".a", "*", "{#", "${other}", "1\n",
    ],
)  # fmt: skip
def test_any_other_bare_value_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(ScriptError) as caught:
        expand(SourceText("s", "SELECT ${v} FROM ${none}"), {"v": value, "secret": "x"})
    assert [(d.code, d.span and d.span.text) for d in caught.value.diagnostics] == [
        (Code.BAD_ARGUMENT, "${v}"),
        (Code.MISSING_PARAMETER, "${none}"),
    ]
    assert len(value.strip()) < 2 or value == "${other}" or value.strip() not in str(caught.value)


def test_a_negative_number_after_a_minus_opens_no_comment() -> None:
    script = expand(SourceText("s", "SELECT 1 -${v}, 2"), {"v": "-1"})
    assert [token.text for token in read_tokens(script)] == ["SELECT", "1", "-", "-", "1", ",", "2"]
    at = script.text.rindex("2")
    assert script.span(at, at + 1).text == "2"


def test_a_value_brings_no_statement_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "injected_code.py").write_text("raise SystemExit('it ran')\n")
    text = "CREATE TABLE t (a INT) WITH ('connector' = 'print', 'print-identifier' = '${v}'); SHOW CREATE TABLE t;"
    value = "'); CREATE FUNCTION f AS 'injected_code:f' LANGUAGE PYTHON; --"
    program = compile_script(SourceText(str(tmp_path / "s.sql"), text), {"v": value}, {})
    [step] = program.steps
    assert isinstance(step, Text)
    assert value.replace("'", "''") in step.text
