"""Errors that occur before Kafka and Spark are used: arguments, the checkpoint, the machine. One screen per test."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.jvm import declaration
from millstream.plan.program import compile_script
from millstream.runtime.checkpoint import Checkpoint
from millstream.runtime.checkpoint_marker import read_jobs, write_jobs
from millstream.source import SourceText
from tests.begun_batches import begin_job
from tests.golden.conftest import run_call, run_command

if TYPE_CHECKING:
    from collections.abc import Callable

TOTALS = Path(__file__).parent / "screens" / "totals.sql"
PARAMETERS = {"brokers": "localhost:9092", "orders": "orders", "totals": "totals"}
RUN = ("run", "totals.sql", *(f"--param={name}={value}" for name, value in PARAMETERS.items()))


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "totals.sql"
    script.write_text(TOTALS.read_text())
    return script


def install_java(home: Path, script: str) -> None:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)


def test_unreadable_script(expect_screen: Callable[..., None]) -> None:
    expect_screen(run_command("run", "orders.sql"))


def test_argument_without_value(expect_screen: Callable[..., None]) -> None:
    expect_screen(run_command("run", "totals.sql", "--param", "brokers"))


def test_argument_master(expect_screen: Callable[..., None]) -> None:
    expect_screen(run_command(*RUN, "--master", "mesos://host"))


def test_checkpoint_of_another_query(script: Path, expect_screen: Callable[..., None]) -> None:
    [job] = compile_script(SourceText("totals.sql", script.read_text()), PARAMETERS, {}).jobs
    earlier = Checkpoint(Path(".millstream") / "totals")
    begin_job(earlier, job, 8)
    earlier.release()
    script.write_text(script.read_text().replace("SUM(amount)", "COUNT(amount)"))
    expect_screen(run_command(*RUN))


def test_checkpoint_of_earlier_version(script: Path, expect_screen: Callable[..., None]) -> None:
    """Which ran the aggregate on Spark's own operator."""
    [job] = compile_script(SourceText("totals.sql", script.read_text()), PARAMETERS, {}).jobs
    earlier = Checkpoint(Path(".millstream") / "totals")
    begin_job(earlier, job)
    earlier.release()
    [(name, known)] = read_jobs(earlier.root).items()
    known["state"]["aggregate-1"]["runs"] = "native"
    write_jobs(earlier.root, {name: known})
    expect_screen(run_command(*RUN))


def test_checkpoint_in_use(expect_screen: Callable[..., None]) -> None:
    held = Checkpoint(Path(".millstream") / "totals")
    shown = run_command(*RUN)
    held.release()
    expect_screen(shown)


def test_checkpoint_damaged(expect_screen: Callable[..., None]) -> None:
    marker = Path(".millstream") / "totals" / "millstream.json"
    marker.parent.mkdir(parents=True)
    marker.write_text('{"layout": 1, "jo')
    expect_screen(run_command(*RUN))


def test_checkpoint_elsewhere(expect_screen: Callable[..., None]) -> None:
    expect_screen(run_command(*RUN, "--checkpoint", "s3a://jobs/totals"))


def test_checkpoint_not_cleared(expect_screen: Callable[..., None]) -> None:
    stranger = Path("photos") / "summer.jpg"
    stranger.parent.mkdir()
    stranger.touch()
    checkpoint = Checkpoint(stranger.parent)
    shown = run_call(checkpoint.clear)
    checkpoint.release()
    expect_screen(shown)


def test_java_missing(monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    expect_screen(run_command("broker"))


def test_java_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]) -> None:
    install_java(tmp_path / "jdk8", "echo 'openjdk version \"1.8.0_402\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk8"))
    expect_screen(run_command("broker"))


def test_jvm_parts_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]
) -> None:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", "http://localhost:1/maven")
    expect_screen(run_command("broker"), DIGEST=declaration.declaration_digest())


def test_jvm_parts_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]) -> None:
    play_ivy = "mkdir jars; for name in $(cut -d/ -f2 {lock}); do echo '<html>' > jars/$name; done"
    lock = tmp_path / "jars.sha256"
    lock.write_text(f"{'0' * 64}  1048576  broker/kafka-clients-4.1.1.jar\n")
    monkeypatch.setattr(declaration, "LOCK_FILE", lock)
    version = '[ "$1" = -version ] && echo \'openjdk version "17.0.1"\' >&2 && exit'
    install_java(tmp_path / "jdk", f"{version}\n{play_ivy.format(lock=lock)}")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MILLSTREAM_MAVEN_REPOSITORY", raising=False)
    expect_screen(run_command("broker"), DIGEST=declaration.declaration_digest())


def test_broker_not_started(tmp_path: Path, expect_screen: Callable[..., None]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        shown = run_command("broker", "--port", port, "--data", tmp_path / "broker")
    expect_screen(shown, **{"9092": str(port)})


def test_internal(monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("millstream.cli.run.read_script", fail)
    expect_screen(run_command("run", "totals.sql"))
