"""Each .test file in this folder is a test; millstream.testing.script_file describes how to write one."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.source import SourceText
from millstream.testing.script_file import find_known_bug, parse_script_file
from millstream.testing.script_runner import ScriptContext, record_script_file, run_script_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent
SLOW = ("changes_written_to_canal_and_maxwell", "long_names", "nested_keys", "set_over_one_table")
"""Each stateful job takes seconds, and other tests are similar."""


def cases() -> list[object]:
    paths = sorted(FOLDER.glob("*.test"))
    bugs = {path: find_known_bug(path.read_text(encoding="utf-8")) for path in paths}
    return [pytest.param(path, id=path.stem, marks=marks_of(path, bug)) for path, bug in bugs.items()]


def marks_of(path: Path, bug: str | None) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.xfail(reason=bug, raises=AssertionError, strict=True)] if bug else []
    return [*marks, pytest.mark.slow] if path.stem in SLOW else marks


@pytest.mark.parametrize("path", cases())
def test_script(path: Path, broker: str, spark: SparkSession, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_text(encoding="utf-8")
    script = parse_script_file(SourceText(str(path.relative_to(pytestconfig.rootpath)), text))
    around = ScriptContext(broker, spark, tmp_path, seed=uuid.uuid4().hex[:8])
    if script.known_bug or not pytestconfig.getoption("--record"):
        run_script_file(script, around)
    elif (found := record_script_file(script, around)) != text:
        path.write_text(found, encoding="utf-8")
