"""The runner itself, on scripts that need Kafka but no job."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from millstream.source import SourceText
from millstream.testing.script_file import parse_script_file
from millstream.testing.script_runner import ScriptContext, record_script_file, run_script_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from millstream.testing.script_steps import ScriptFile

ALL = "a => 1\nb => 1\nb => null\nc => 1\n"
PRODUCED = """\
# purpose
$ topic name=rows partitions=2
$ produce topic=rows partition=0
b => 1
a => 1
b => null
$ produce topic=rows partition=1
c => 1
"""


def script(text: str) -> ScriptFile:
    return parse_script_file(SourceText("rows.test", text))


@pytest.fixture
def around(broker: str, tmp_path: Path) -> ScriptContext:
    return ScriptContext(broker, None, tmp_path, seed=uuid.uuid4().hex[:8])


@pytest.fixture
def run(around: ScriptContext) -> Callable[[str], None]:
    return lambda steps: run_script_file(script(PRODUCED + steps), around)


@pytest.mark.parametrize(
    "steps",
    [
        "$ consume topic=rows as=folded\nc => 1\na => 1",
        "$ consume topic=rows\nc => 1\nb => 1\nb => null\na => 1",
        "$ consume topic=rows order=offset\nb => 1\na => 1\nb => null\nc => 1",
        "$ consume topic=rows order=any\nc => 1\nb => null\nb => 1\na => 1",
        f"$ consume topic=rows\n{ALL}$ produce topic=rows\nd => 1\n$ consume topic=rows\nd => 1",
        "$ produce topic=rows partition=1\nd => 1\nd => 2\n$ consume topic=rows as=folded\na => 1\nc => 1\nd => 2",
    ],
    ids=["folded", "order of keys", "order of offsets", "any order", "new messages only", "fold of all"],
)
def test_messages_that_are_as_expected(run: Callable[[str], None], steps: str) -> None:
    run(steps)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("$ consume topic=rows as=folded\na => 1", ["rows.test:9:", " a => 1", "+c => 1"]),
        ("$ consume topic=rows\na => 1\nb => null\nb => 1\nc => 1", ["rows.test:9:", "-b => 1", "+b => 1"]),
        ("$ consume topic=rows order=offset\na => 1\nb => 1\nb => null\nc => 1", ["rows.test:9:"]),
        ("$ consume topic=rows order=any\nc => 1\nb => 1\na => 1", ["rows.test:9:", "+b => null"]),
        ("$ produce topic=rows\nd => null\n$ consume topic=rows as=folded", ["rows.test:11:", "tombstone"]),
        ("$ await caught-up", ["rows.test:9:", "no job runs"]),
        ("> CREATE TABLE t (id INT;", ["rows.test:9: failed", "--> rows.test:9:"]),
        ("! CREATE TABLE t (id INT;\ncode: M2001", ["rows.test:9:", "-code: M2001", "+code: M1001"]),
        ("! CREATE TABLE t (id INT;\ncode: M1001\ncontains: pear", ["rows.test:9:", 'not contain "pear"']),
        ("! CREATE TABLE t (id INT);\ncode: M1001", ["rows.test:9:", "must fail, and did not"]),
    ],
    ids=[
        *("row missing", "order of a key", "order of offsets", "message missing", "tombstone of nothing", "no job"),
        *("statement fails", "another code", "other words", "statement succeeds"),
    ],
)
def test_what_differs_is_told_with_its_place(run: Callable[[str], None], steps: str, expected: list[str]) -> None:
    with pytest.raises(AssertionError) as caught:
        run(steps)
    for part in expected:
        assert part in str(caught.value)


AVRO = """\
# purpose
$ topic name=rows
$ produce topic=rows
hex:0261 => hex:02061274776f20776f726473
hex:0262 => null
$ consume topic=rows format=avro key.columns="k STRING NOT NULL" value.columns="n BIGINT, s STRING NOT NULL"
{"k":"a"} => {"n":3,"s":"two words"}
{"k":"b"} => null
"""


def test_avro_is_shown_as_json(around: ScriptContext) -> None:
    run_script_file(script(AVRO), around)


@pytest.mark.parametrize("columns", ["n BIGINT", "n BIGINT, s STRING NOT NULL, t STRING NOT NULL"])
def test_avro_of_other_columns_is_told(around: ScriptContext, columns: str) -> None:
    text = AVRO.replace("n BIGINT, s STRING NOT NULL", columns)
    with pytest.raises(AssertionError, match=r"rows\.test:6: .* Avro of these columns"):
        run_script_file(script(text), around)


def test_recording_renews_what_differs_and_nothing_else(around: ScriptContext) -> None:
    text = (
        f"{PRODUCED}"
        "# stays\n$ consume topic=rows as=folded\nc => 1\na => 1\n\n"
        "! CREATE TABLE t (id INT;\ncode: M2001\ncode: M2002\ncontains: expected\n\n"
        "$ consume topic=rows\nz => 1\n# goes\ny => 1\n"
    )
    found = record_script_file(script(text), around)
    assert found == (
        f"{PRODUCED}"
        "# stays\n$ consume topic=rows as=folded\nc => 1\na => 1\n\n"
        "! CREATE TABLE t (id INT;\ncode: M1001\ncontains: expected\n\n"
        f"$ consume topic=rows\n{ALL}"
    )
    run_script_file(script(found), ScriptContext(around.bootstrap, None, around.folder, seed=f"{around.seed}-2"))
