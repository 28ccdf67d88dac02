"""What Spark's launcher and the JVM that it starts learn from their environment. The Java is a fake one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from millstream.jvm.java_home import java_home

LAUNCHER = ("-cp", "jars/*", "org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit")
JVM = ("-cp", "jars/*", "org.apache.spark.deploy.SparkSubmit", "pyspark-shell")


@pytest.fixture
def java(tmp_path: Path) -> Path:
    executable = tmp_path / "it's a java" / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text('#!/usr/bin/env bash\necho "$# $SPARK_HOME|$JAVA_HOME"; env\n')
    executable.chmod(0o755)
    modules = executable.parent.parent / "lib" / "modules"
    modules.parent.mkdir()
    modules.touch()
    return executable


def run_java(home: str, arguments: tuple[str, ...]) -> str:
    """The number of arguments, SPARK_HOME and JAVA_HOME, then the whole environment."""
    environment = {**os.environ, "JAVA_HOME": home, "SPARK_HOME": "spark", "db.password": "p"}
    command = [str(Path(home) / "bin" / "java"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_jvm_does_not_learn_where_spark_is(java: Path) -> None:
    with java_home(java, hides_spark=True) as home:
        assert run_java(home, JVM).startswith(f"4 |{java.parent.parent}\n")


def test_launcher_names_this_java_again(java: Path) -> None:
    with java_home(java, hides_spark=True) as home:
        assert run_java(home, LAUNCHER).startswith(f"4 spark|{home}\n")
    assert not Path(home).exists()


def test_java_is_as_it_was_where_executors_are_elsewhere(java: Path) -> None:
    with java_home(java, hides_spark=False) as home:
        assert home == str(java.parent.parent)
        assert run_java(home, JVM).startswith(f"4 spark|{home}\n")


def test_folder_that_allows_no_programs(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with java_home(java, hides_spark=True) as home:
        assert home == str(java.parent.parent)


def test_variables_that_are_no_names_in_a_shell_are_passed_on(java: Path) -> None:
    with java_home(java, hides_spark=True) as home:
        assert "\ndb.password=p\n" in run_java(home, JVM)


def test_java_that_is_a_script_of_its_own(java: Path) -> None:
    """It may look for another Java in JAVA_HOME."""
    (java.parent.parent / "lib" / "modules").unlink()
    with java_home(java, hides_spark=True) as home:
        assert home == str(java.parent.parent)
