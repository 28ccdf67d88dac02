"""What a script test may say, and what is said about one that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from millstream.errors import Code, ScriptError
from millstream.source import SourceText
from millstream.sql.types import BIGINT, STRING
from millstream.testing.script_file import find_known_bug, parse_script_file, read_script_file
from millstream.testing.script_messages import Message
from millstream.testing.script_steps import (
    Answer,
    AwaitCaughtUp,
    AwaitFailure,
    Block,
    Consume,
    CreateTopic,
    Execute,
    Order,
    Produce,
    Refuse,
    Restart,
    Shown,
    View,
)

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.testing.script_steps import ScriptFile

WHOLE = """\
# orders are counted per shop

$ topic name=orders partitions=2
$ topic name=totals
> CREATE TABLE orders (
    shop STRING

  );
# a comment between steps
> INSERT INTO totals
SELECT shop FROM orders;
$ produce topic=orders partition=1
a => {"shop":"a"}
  # a comment between messages
{"shop":"b"}

null
$ await caught-up timeout=5
$ restart
$ consume topic=totals as=folded
a => 1
! INSERT INTO nowhere SELECT 1;
code: M2001
code: M2003
contains: table "nowhere"
$ await failure job=totals
code: M5004
"""


def parse(text: str) -> ScriptFile:
    return parse_script_file(SourceText("orders.test", text))


def parse_step(text: str) -> Any:
    """The last step of a test that knows the topics `orders` and `totals`."""
    return parse(f"# purpose\n$ topic name=orders\n$ topic name=totals\n{text}").steps[-1]


def test_every_step_knows_its_line() -> None:
    script = parse(WHOLE)
    assert script.purpose == "orders are counted per shop"
    assert script.known_bug is None
    assert script.steps == (
        CreateTopic(3, "orders", 2),
        CreateTopic(4, "totals", 1),
        Execute(5, "\n" * 4 + "  CREATE TABLE orders (\n    shop STRING\n\n  );"),
        Execute(10, "\n" * 9 + "  INSERT INTO totals\nSELECT shop FROM orders;"),
        Produce(
            12,
            "orders",
            1,
            (Message(b"a", b'{"shop":"a"}'), Message(None, b'{"shop":"b"}'), Message(None, None)),
        ),
        AwaitCaughtUp(18, 5),
        Restart(19),
        Consume(20, "totals", View.FOLDED, Order.KEY, None, None, (Message(b"a", b"1"),), Block(21, 22)),
        Refuse(
            22,
            "\n" * 21 + "  INSERT INTO nowhere SELECT 1;",
            ("M2001", "M2003"),
            ('table "nowhere"',),
            Block(23, 25),
        ),
        AwaitFailure(26, "totals", ("M5004",), (), 300, Block(27, 28)),
    )


def test_a_file_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "short.test"
    path.write_text("# purpose\n$ restart", encoding="utf-8")
    assert read_script_file(path).source.name == str(path)


@pytest.mark.parametrize(
    ("written", "sql"),
    [
        ("> SET 'a' = 'b'; SET 'c' = 'd';", "SET 'a' = 'b'; SET 'c' = 'd';"),
        ("> SET 'a' = 'b';\n  SET 'c' = 'd';", "SET 'a' = 'b';\n  SET 'c' = 'd';"),
        ("> SELECT\n\n# not a comment in SQL\n1;", "SELECT\n\n# not a comment in SQL\n1;"),
        (">SELECT 1; \n\n  # indented, yet after the end", "SELECT 1;"),
    ],
    ids=["one line", "indented lines follow", "blank lines", "blank line after the end"],
)
def test_where_a_statement_ends(written: str, sql: str) -> None:
    step = parse_step(written)
    assert step.sql.strip() == sql


def test_statements_at_the_margin_are_steps_of_their_own() -> None:
    script = parse("# purpose\n> SET 'a' = 'b';\n> SET 'c' = 'd';")
    assert [step.line for step in script.steps] == [2, 3]


def test_an_expected_block_may_be_empty() -> None:
    step = parse_step("$ consume topic=totals\n\n# nothing is written\n$ restart")
    assert step == Restart(7)
    step = parse_step("$ consume topic=totals\n\n# nothing is written\n")
    assert step.expected == ()
    assert step.block == Block(5, 5)


def test_what_is_shown_is_compared_line_by_line() -> None:
    step = parse_step("? SHOW TABLES;\ntable name  \n----------\n\n# a comment\norders\n\n")
    assert step == Answer(4, "\n" * 3 + "  SHOW TABLES;", ("table name", "----------", "orders"), Block(5, 10))
    step = parse_step("$ shown order=any\n+I[1]\n+I[2]")
    assert step == Shown(4, Order.ANY, ("+I[1]", "+I[2]"), Block(5, 7))


def test_avro_columns_are_read_as_a_table_declares_them() -> None:
    step = parse_step(
        '$ consume topic=totals as=messages order=any format=avro key.columns="shop STRING NOT NULL" \\\n'
        '    value.columns="shop STRING NOT NULL, n BIGINT"\n'
        "a => 1"
    )
    assert step.key_columns == (("shop", STRING.not_null()),)
    assert step.value_columns == (("shop", STRING.not_null()), ("n", BIGINT))
    assert (step.view, step.order) == (View.MESSAGES, Order.ANY)
    assert step.block == Block(6, 7)


def test_a_known_bug_is_found_also_in_a_file_that_cannot_be_read() -> None:
    text = "# purpose\n# known-bug: sums are wrong\n$ rest"
    assert find_known_bug(text) == "sums are wrong"
    assert parse(text.replace("$ rest", "$ restart")).known_bug == "sums are wrong"


@pytest.mark.parametrize(
    ("line", "text", "primary"),
    [
        (1, "", "the first line says"),
        (1, "> SELECT 1;", "the first line says"),
        (1, "#\n> SELECT 1;", "the first line says"),
        (1, "# purpose\n\n# nothing else", "no steps"),
        (2, "# purpose\nSELECT 1;", "expected a step"),
        (3, "# purpose\n$ restart\n{}", "expected a step"),
        (2, "# purpose\n> SELECT 1", "does not end"),
        (2, "# purpose\n> SELECT 1\n> SELECT 2;", "does not end"),
        (2, "# purpose\n> SELECT 1; -- one\n\n$ restart", "does not end"),
        (2, "# purpose\n! SELECT 1;", "needs its code"),
        (2, "# purpose\n! SELECT 1;\ncontains: words", "needs its code"),
        (3, "# purpose\n! SELECT 1;\ncode: 42", "expected code"),
        (4, "# purpose\n! SELECT 1;\ncode: M1001\ncodes: M1001", "expected code"),
        (5, "# purpose\n! SELECT 1;\ncode: M1001\ncontains: x\ncode: M1001", "after all codes"),
        (2, "# purpose\n$ wait", 'no step "wait"'),
        (2, "# purpose\n$ await", 'no step "await"'),
        (2, "# purpose\n$ await failure", "needs its code"),
        (2, '# purpose\n$ topic name="orders', "no closing quotation"),
        (2, "# purpose\n$ topic", "needs name="),
        (2, "# purpose\n$ topic name=", "needs name="),
        (2, "# purpose\n$ topic name=a/b", 'cannot be called "a/b"'),
        (2, "# purpose\n$ topic name=brokers", 'cannot be called "brokers"'),
        (2, "# purpose\n$ topic name=a partitions=many", "is not a number"),
        (2, "# purpose\n$ topic name=a partitions=0", "at least one partition"),
        (2, "# purpose\n$ topic name=a partition=2", "does not take partition"),
        (3, "# purpose\n$ topic name=a\n$ topic name=a", "created twice"),
        (2, "# purpose\n$ produce topic=a\n1\n$ topic name=a", 'topic "a" is not created'),
        (3, "# purpose\n$ topic name=a\n$ produce topic=a\n$ restart", "at least one message"),
        (4, "# purpose\n$ topic name=a\n$ produce topic=a\nhex:0", "message cannot be read"),
        (2, "# purpose\n$ consume topic=a", 'topic "a" is not created'),
        (3, "# purpose\n$ topic name=a\n$ consume topic=a as=table", "is none of messages, folded"),
        (3, "# purpose\n$ topic name=a\n$ consume topic=a order=time", "is none of key, offset, any"),
        (3, "# purpose\n$ topic name=a\n$ consume topic=a format=avro", "belong together"),
        (3, '# purpose\n$ topic name=a\n$ consume topic=a key.columns="a INT"', "belong together"),
        (
            3,
            '# purpose\n$ topic name=a\n$ consume topic=a format=avro key.columns="a"',
            "key.columns cannot be read",
        ),
        (3, "# purpose\n> SELECT 1;\n$ restart job=a", "does not take job"),
    ],
)
def test_what_cannot_be_read_is_told_with_file_and_line(line: int, text: str, primary: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is Code.SYNTAX
    assert primary in diagnostic.primary
    assert diagnostic.span is not None
    assert diagnostic.span.line == line
    assert f"orders.test:{line}:" in str(caught.value)
