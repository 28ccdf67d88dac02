"""What the command line says and returns before anything is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from millstream import __version__
from millstream.cli.main import app
from millstream.runtime import checkpoint
from millstream.runtime.kafka import admin as kafka_admin

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE numbers (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'numbers', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE copies (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'copies', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
INSERT INTO copies SELECT n FROM numbers;
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "numbers.sql"
    path.write_text(SCRIPT)
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_version() -> None:
    assert run("--version") == (0, f"millstream {__version__}\n")


@pytest.mark.parametrize("command", ["run", "demo", "broker"])
def test_help_of_each_command_has_examples(command: str) -> None:
    code, output = run(command, "--help")
    assert code == 0
    assert f"millstream {command}" in output.split("Examples:")[1]


def test_missing_file() -> None:
    code, output = run("run", "nowhere.sql")
    assert code == 2
    assert "M1005" in output
    assert "nowhere.sql" in output


def test_syntax_error_has_line_and_caret(script: Path) -> None:
    script.write_text("CREATE TABLE t (\n  a INTT\n);")
    code, output = run("run", script)
    assert code == 2
    assert "numbers.sql:2:5" in output
    assert " 2 |   a INTT\n   |     ^^^^" in output


def test_missing_parameter(script: Path) -> None:
    code, output = run("run", script)
    assert (code, output.count("M1004")) == (2, 2)


@pytest.mark.parametrize("argument", ["brokers", "=x"])
def test_malformed_parameter(script: Path, argument: str) -> None:
    code, output = run("run", script, "--param", argument)
    assert code == 2
    assert "M1006" in output


def test_malformed_master(script: Path) -> None:
    code, output = run("run", script, "--param", "brokers=b:9092", "--master", "nonsense")
    assert code == 2
    assert "M1006" in output


def test_undefined_setting(script: Path) -> None:
    code, output = run("run", script, "--param", "brokers=b:9092", "--set", "paralelism.default=2")
    assert code == 2
    assert "Did you mean 'parallelism.default'" in output


def test_script_without_insert(script: Path) -> None:
    script.write_text("SET 'parallelism.default' = '1';")
    code, output = run("run", script)
    assert code == 0
    assert "nothing to run" in output


def test_unreachable_broker_is_named(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_admin, "_TIMEOUT_SECONDS", 0.5)
    code, output = run("run", script, "--param", "brokers=localhost:1")
    assert code == 1
    assert "M4001" in output
    assert "localhost:1" in output


def test_folder_that_cannot_be_used(script: Path) -> None:
    code, output = run("run", script, "--param", "brokers=localhost:1", "--checkpoint", script / "below-a-file")
    assert code == 1
    assert "M5003" in output


def test_unexpected_failure_is_one_message(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("millstream.cli.run.read_script", fail)
    code, output = run("run", script)
    assert code == 1
    assert "error[M9001]" in output
    assert "Traceback" not in output
    assert "Traceback" in run("run", script, "--verbose")[1]


def test_checkpoint_in_use(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_CLAIM_SECONDS", 0.1)
    held = checkpoint.Checkpoint(tmp_path / "checkpoint")
    code, output = run("run", script, "--param", "brokers=localhost:1", "--checkpoint", tmp_path / "checkpoint")
    held.release()
    assert code == 1
    assert "M5005" in output


def test_a_parameter_without_a_value_has_it_in_the_environment(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("brokers", "not an address")
    code, output = run("check", script, "--param", "brokers")
    assert code == 2
    assert "not an address" in output
    monkeypatch.setenv("brokers", "localhost:9092")
    assert run("check", script, "--param", "brokers")[0] == 0
