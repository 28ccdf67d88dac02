"""Finding Java: fake ones in temporary folders, none is really started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.errors import Code, SetupError
from millstream.jvm.java import find_java

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def install_java(home: Path, version_output: str, exit_code: int = 0) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{version_output}\nEND\nexit {exit_code}\n")
    executable.chmod(0o755)
    return executable


def openjdk(version: str) -> str:
    return f'openjdk version "{version}" 2025-04-15\nOpenJDK Runtime Environment (build {version}+6)'


def test_no_java_at_all() -> None:
    with pytest.raises(SetupError) as refused:
        find_java()
    assert refused.value.code is Code.JAVA_MISSING
    assert refused.value.diagnostics[0].hint


@pytest.mark.parametrize(
    ("shown", "major"),
    [
        (openjdk("17.0.15"), 17),
        (openjdk("21"), 21),
        (openjdk("21-ea"), 21),
        (f"Picked up JAVA_TOOL_OPTIONS: -Dversion=1\n{openjdk('17.0.1')}", 17),
    ],
)
def test_accepted_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, major: int) -> None:
    executable = install_java(tmp_path / "jdk", shown)
    monkeypatch.setenv("PATH", str(executable.parent))
    java = find_java()
    assert (java.executable, java.major) == (executable, major)


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16.0.2", "18.0.1", "25.0.1"])
def test_refused_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("PATH", str(install_java(tmp_path / "jdk", openjdk(version)).parent))
    with pytest.raises(SetupError) as refused:
        find_java()
    assert refused.value.code is Code.JAVA_VERSION
    assert refused.value.diagnostics[0].hint


def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = install_java(tmp_path / "path", openjdk("17.0.1"))
    at_home = install_java(tmp_path / "home", openjdk("21.0.1"))
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java().executable == at_home


def test_java_home_without_java_is_said_and_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(install_java(tmp_path / "path", openjdk("17.0.1")).parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SetupError) as refused:
        find_java()
    assert refused.value.code is Code.JAVA_MISSING
    assert str(tmp_path / "gone") in (refused.value.diagnostics[0].detail or "")


def test_empty_java_home_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = install_java(tmp_path / "path", openjdk("17.0.1"))
    monkeypatch.setenv("PATH", str(executable.parent))
    monkeypatch.setenv("JAVA_HOME", "")
    assert find_java().executable == executable


@pytest.mark.parametrize(("shown", "exit_code"), [("no runtime present", 1), ("hello", 0)])
def test_a_java_that_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, exit_code: int) -> None:
    monkeypatch.setenv("PATH", str(install_java(tmp_path / "stub", shown, exit_code).parent))
    with pytest.raises(SetupError) as refused:
        find_java()
    assert refused.value.code is Code.JAVA_MISSING
    assert shown in (refused.value.diagnostics[0].detail or "")
