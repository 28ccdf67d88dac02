"""The cache of jars, filled by a fake java that plays Ivy and counts how often it does."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from millstream.errors import Code, SetupError
from millstream.jvm import declaration
from millstream.jvm.parts import Part, cache_folder, jars

CONTENTS = {"a-1.0.jar": "first", "b-2.0.jar": "second"}

FAKE_JAVA = """\
#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "17.0.1"' >&2; exit 0; fi
echo run >> {runs}
{script}
"""

PLAY_IVY = """\
mkdir jars
printf '\\tfound org.example#a;1.0 in repository\\n'
echo 'downloading http://repository.example/org/example/a/1.0/a-1.0.jar ...'
printf first > jars/a-1.0.jar
echo '.......... (5kB)'
echo 'downloading http://repository.example/org/example/b/2.0/b-2.0.jar ...'
printf second > jars/b-2.0.jar
"""


@dataclass(frozen=True)
class Machine:
    root: Path

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    def install_java(self, script: str) -> None:
        executable = self.root / "jdk" / "bin" / "java"
        executable.parent.mkdir(parents=True, exist_ok=True)
        executable.write_text(FAKE_JAVA.format(runs=self.root / "runs", script=script))
        executable.chmod(0o755)

    def remove_java(self) -> None:
        shutil.rmtree(self.root / "jdk")

    def lock(self, contents: dict[str, str]) -> None:
        lines = [
            f"{hashlib.sha256(text.encode()).hexdigest()}  {len(text)}  spark/{name}" for name, text in contents.items()
        ]
        declaration.LOCK_FILE.write_text("# a comment\n" + "\n".join(lines) + "\n")

    @property
    def ivy_runs(self) -> int:
        runs = self.root / "runs"
        return len(runs.read_text().splitlines()) if runs.exists() else 0

    def cached_names(self) -> set[str]:
        return {entry.name for entry in self.cache.iterdir()} - {"spark.lock"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setenv("MILLSTREAM_CACHE", str(machine.cache))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr(declaration, "LOCK_FILE", tmp_path / "jars.sha256")
    machine.lock(CONTENTS)
    machine.install_java(PLAY_IVY)
    return machine


def contents(paths: tuple[Path, ...]) -> dict[str, str]:
    return {path.name: path.read_text() for path in paths}


def test_the_first_call_downloads_and_tells_how_far_it_is(machine: Machine) -> None:
    notices: list[str] = []
    found = jars(Part.SPARK, notices.append)
    assert contents(found) == CONTENTS
    downloads = [line for line in notices if line.startswith("downloading")]
    assert [re.findall(r"\S+\.jar|\d of \d", line) for line in downloads] == [
        ["a-1.0.jar", "1 of 2"],
        ["b-2.0.jar", "2 of 2"],
    ]
    assert machine.cached_names() == {found[0].parent.name}


def test_later_calls_need_no_java_and_say_nothing(machine: Machine) -> None:
    first = jars(Part.SPARK)
    machine.remove_java()
    notices: list[str] = []
    assert jars(Part.SPARK, notices.append) == first
    assert notices == []


@pytest.mark.parametrize("damage", ["truncated", "removed"])
def test_a_damaged_cache_is_filled_anew(machine: Machine, damage: str) -> None:
    first = jars(Part.SPARK)
    if damage == "truncated":
        first[1].write_text("sec")
    else:
        first[1].unlink()
    assert contents(jars(Part.SPARK)) == CONTENTS
    assert machine.ivy_runs == 2


def test_a_changed_declaration_is_resolved_anew(machine: Machine) -> None:
    first = jars(Part.SPARK)
    machine.lock({"a-1.0.jar": "first"})
    machine.install_java(PLAY_IVY + "rm jars/b-2.0.jar\n")
    second = jars(Part.SPARK)
    assert contents(second) == {"a-1.0.jar": "first"}
    assert contents(first) == CONTENTS


@pytest.mark.parametrize(
    "difference",
    ["printf sEcond > jars/b-2.0.jar", "rm jars/b-2.0.jar", "printf third > jars/c-3.0.jar"],
)
def test_other_jars_than_those_locked_are_refused(machine: Machine, difference: str) -> None:
    machine.install_java(PLAY_IVY + difference)
    with pytest.raises(SetupError) as refused:
        jars(Part.SPARK)
    assert refused.value.code is Code.JVM_PARTS_DAMAGED
    assert machine.cached_names() == set()


def test_a_checksum_that_ivy_finds_wrong(machine: Machine) -> None:
    machine.install_java("echo '[FAILED ] org.example#a;1.0!a.jar: invalid sha1: expected=1 computed=2'; exit 1")
    with pytest.raises(SetupError) as refused:
        jars(Part.SPARK)
    assert refused.value.code is Code.JVM_PARTS_DAMAGED
    assert machine.cached_names() == set()


def test_what_a_killed_download_left_is_removed(machine: Machine) -> None:
    remains = machine.cache / ".spark-killed" / "jars"
    remains.mkdir(parents=True)
    found = jars(Part.SPARK)
    assert machine.cached_names() == {found[0].parent.name}


def test_many_at_once_download_once(machine: Machine) -> None:
    machine.install_java("sleep 0.2\n" + PLAY_IVY)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(jars, [Part.SPARK] * 4))
    assert [contents(paths) for paths in found] == [CONTENTS] * 4
    assert machine.ivy_runs == 1


def test_no_java_and_a_cold_cache(machine: Machine) -> None:
    machine.remove_java()
    with pytest.raises(SetupError) as refused:
        jars(Part.SPARK)
    assert refused.value.code is Code.JAVA_MISSING


def test_a_cache_folder_that_cannot_be_written(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.root / "file").touch()
    monkeypatch.setenv("MILLSTREAM_CACHE", str(machine.root / "file" / "cache"))
    with pytest.raises(SetupError) as refused:
        jars(Part.SPARK)
    assert refused.value.code is Code.JVM_PARTS_UNAVAILABLE
    assert "MILLSTREAM_CACHE" in (refused.value.diagnostics[0].hint or "")


@pytest.mark.skipif(shutil.which("java") is None, reason="runs the real Ivy")
def test_an_unreachable_repository_with_a_cold_cache(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", "http://127.0.0.1:9/closed & dark")
    with pytest.raises(SetupError) as refused:
        jars(Part.SPARK)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code is Code.JVM_PARTS_UNAVAILABLE
    assert "http://127.0.0.1:9/closed" in (diagnostic.detail or "")
    for way_out in (str(machine.cache), "JAVA_TOOL_OPTIONS", "MILLSTREAM_MAVEN_REPOSITORY"):
        assert way_out in (diagnostic.hint or "")
    assert machine.cached_names() == set()


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("MILLSTREAM_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/someone/.cache/millstream")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "millstream"
    monkeypatch.setenv("MILLSTREAM_CACHE", "~/jars")
    assert cache_folder() == Path("/home/someone/jars")


def test_the_shipped_lock_holds_what_is_declared() -> None:
    for dependency in ET.parse(declaration.IVY_FILE).iter("dependency"):
        part = Part(dependency.attrib["conf"].partition("->")[0])
        locked = {jar.name for jar in declaration.read_locked_jars(part)}
        assert f"{dependency.attrib['name']}-{dependency.attrib['rev']}.jar" in locked


def test_the_shipped_lock_brings_nothing_that_pyspark_has() -> None:
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.submodule_search_locations
    shipped = Path(pyspark.submodule_search_locations[0]) / "jars"
    ours = {artifact(jar.name) for jar in declaration.read_locked_jars(Part.SPARK)}
    theirs = {artifact(jar.name) for jar in shipped.glob("*.jar")}
    assert len(theirs) > 100
    assert ours & theirs == set()


def artifact(file_name: str) -> str:
    return re.sub(r"-\d+(\.\w+)*.*\.jar$", "", file_name)
