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
    executable.write_text('#!/bin/sh\necho "$# $SPARK_HOME|$JAVA_HOME"\n')
    executable.chmod(0o755)
    return executable


def run_java(home: str, arguments: tuple[str, ...]) -> str:
    environment = {**os.environ, "JAVA_HOME": home, "SPARK_HOME": "spark"}
    command = [str(Path(home) / "bin" / "java"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_jvm_does_not_learn_where_spark_is(java: Path) -> None:
    with java_home(java, hides_spark=True) as home:
        assert run_java(home, JVM) == f"4 |{java.parent.parent}"


def test_launcher_names_this_java_again(java: Path) -> None:
    with java_home(java, hides_spark=True) as home:
        assert run_java(home, LAUNCHER) == f"4 spark|{home}"
    assert not Path(home).exists()


def test_java_is_as_it_was_where_executors_are_elsewhere(java: Path) -> None:
    with java_home(java, hides_spark=False) as home:
        assert home == str(java.parent.parent)
        assert run_java(home, JVM) == f"4 spark|{home}"


def test_folder_that_allows_no_programs(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with java_home(java, hides_spark=True) as home:
        assert home == str(java.parent.parent)
