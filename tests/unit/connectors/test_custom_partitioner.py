"""A partitioner class is found beside the script, and what is wrong with it is told at the option's value."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from millstream.catalog.module_source import NotReadableError
from millstream.connectors.kafka.custom_partitioner import check_partitioner, load_partitioner, partitioner_problems
from millstream.errors import Code, ScriptError
from millstream.source import SourceText
from tests.declaring import KAFKA, declare, sink

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.connectors.kafka.tables import KafkaSink

MODULE = """
class Good:
    def partition(self, key, value, topic, partitions):
        return 0

class Empty:
    pass

def function():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("routing_of_this_test", "broken_of_this_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)  # what another test has imported lies elsewhere
    (tmp_path / "routing_of_this_test.py").write_text(MODULE)
    (tmp_path / "broken_of_this_test.py").write_text("import nothing_of_this_name")
    return tmp_path


def sink_with(partitioner: str, folder: Path) -> KafkaSink:
    found = sink(declare({**KAFKA, "sink.partitioner": partitioner}))
    source = SourceText(str(folder / "script.sql"), found.table.span.source.text)
    span = source.span(found.table.span.start, found.table.span.end)
    return replace(found, table=replace(found.table, span=span))


def test_is_found_beside_the_script(folder: Path) -> None:
    loaded = load_partitioner(sink_with("routing_of_this_test:Good", folder))
    assert loaded is not None
    assert loaded.make().partition(None, None, "t", [0]) == 0
    assert [module.__name__ for module in loaded.modules] == ["routing_of_this_test"]
    assert str(folder) not in sys.path


def test_kafkas_own_need_no_class() -> None:
    assert load_partitioner(sink(declare({**KAFKA, "sink.partitioner": "fixed"}))) is None


@pytest.mark.parametrize(
    ("partitioner", "words"),
    [
        ("org.example.Java", "it is not a Python class"),
        ("nowhere_of_this_test:Good", 'module "nowhere_of_this_test" could not be imported'),
        ("broken_of_this_test:Good", 'module "broken_of_this_test" could not be imported'),
        ("routing_of_this_test:Missing", 'module "routing_of_this_test" has no "Missing"'),
        ("routing_of_this_test:function", '"function" is not a class'),
        ("routing_of_this_test:Empty", "it has no method partition"),
    ],
)
def test_what_cannot_be_used(partitioner: str, words: str, folder: Path) -> None:
    [problem] = partitioner_problems(sink_with(partitioner, folder))
    assert problem.code is Code.INVALID_OPTION_VALUE
    assert words in problem.primary
    assert problem.span is not None
    assert problem.span.text == f"'{partitioner}'"
    assert problem.hint
    if not partitioner.startswith("broken"):
        with pytest.raises(ScriptError) as read_only:
            check_partitioner(sink_with(partitioner, folder))
        assert read_only.value.diagnostics == (problem,)


@pytest.mark.parametrize("name", ["Good", "Derived", "Late"])
def test_reading_runs_nothing(folder: Path, name: str) -> None:
    more = "class Derived(Good):\n    pass\nclass Late:\n    partition = Good.partition\n"
    trace = f"import pathlib; pathlib.Path({str(folder / 'ran')!r}).touch()\n"
    (folder / "routing_of_this_test.py").write_text(trace + MODULE + more)
    found = sink_with(f"routing_of_this_test:{name}", folder)
    if name == "Good":
        check_partitioner(found)
    else:
        with pytest.raises(NotReadableError):
            check_partitioner(found)
    assert not (folder / "ran").exists()
    assert partitioner_problems(found) == ()
    assert (folder / "ran").exists()
