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
    "value",
    [
        "1", "-1", "+5", "2.5", "1.", "1e-3", ".5", "-.5", "orders", "a.b", "`a b`.`c``d`", "'it''s'", "x'0F'", "NULL",
        "día", "1a", "date", "date.x", "dates", "decimal_total", "interval", "DATE '2024-01-01'", "TIME'10:00:00'",
        "timestamp '2024-01-01 10:00:00'", "'5' SECOND", "INTERVAL '5' SECOND", "'1-2' YEAR(2) TO MONTH",
        "DECIMAL(10,2)", "decimal ( 10 , 2 )", "BIGINT NOT NULL", "VARCHAR(10) NOT NULL", "DOUBLE PRECISION",
        "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP_LTZ(3)", "1, 2, 3", "'a','b'", "-1,\n+2", "a, b.c",
        "'it''s', NULL, DATE '2024-01-01'",
    ],
)  # fmt: skip
def test_a_bare_value_is_a_name_number_literal_or_type_or_a_list(value: str) -> None:
    assert expand(SourceText("s", "SELECT ${v} FROM t"), {"v": value}).text == f"SELECT {value} FROM t"


@pytest.mark.parametrize("value", [" 5 ", "5\n", "\t5"])
def test_blanks_around_a_bare_value_are_dropped(value: str) -> None:
    assert expand(SourceText("s", "SELECT ${v}"), {"v": value}).text == "SELECT 5"


@pytest.mark.parametrize(
    ("text", "value", "message"),
    [
        ("${v}", "", "is empty"),
        ("${v}", " \n", "is empty"),
        ('"${v}"', "two words", "is in double quotes"),
        ("${v}", '"orders"', "contains double quotes"),
        ("${v}", "two words", "cannot be used outside quotes"),
    ],
)
def test_refusal_of_a_bare_value_says_why(text: str, value: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        expand(SourceText("s", f"SELECT {text}"), {"v": value})
    assert message in caught.value.diagnostics[0].primary


def test_a_long_list_is_refused_in_one_pass() -> None:
    with pytest.raises(ScriptError):
        expand(SourceText("s", "SELECT ${v}"), {"v": "1, 'a', INT, " * 10_000 + "!"})


@pytest.mark.parametrize(
    "value",
    [
        "", " ", "1; DROP TABLE t", "a b", "a -- b", "a/* b", "'a' OR 'b'", "'a", "`a", "a'", "f(x)", "--1",
        "1 OR 1", "(1)", "a.", ".a", "*", "{#", "${other}", "1,", ",1", "1,,2", "1, 2)", "f(1)", "INT(1) x", "- 1",
        "DECIMAL(a)", "'5' SECOND x", "INT NOT", "'a' NOT NULL", "a NOT NULL", "'1', '2' OR '1'", "INT -- x",
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


def test_in_takes_a_list_from_a_parameter() -> None:
    text = "CREATE TABLE t (a ${type}) WITH ('connector' = 'datagen'); SELECT a FROM t WHERE a IN (${ids});"
    program = compile_script(SourceText("s", text), {"type": "BIGINT NOT NULL", "ids": "1, 2, 3"}, {})
    assert len(program.jobs) == 1


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
