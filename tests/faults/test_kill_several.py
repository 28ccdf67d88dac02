"""Several INSERTs of a script, as a statement set and as separate jobs: killed, failed, restarted."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.faults.processes import batches, run_in_background, until_read
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    import subprocess

TABLES, _, COUNTED = SCRIPT.partition("INSERT INTO digits")
TABLES = f"""SET 'millstream.batch.max-rows' = '500';
{TABLES}
CREATE TABLE large (digit BIGINT, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${{large}}', 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json');
CREATE TABLE others WITH ('topic' = '${{others}}') LIKE numbers (OVERWRITING OPTIONS);
CREATE TABLE seen WITH ('topic' = '${{seen}}') LIKE digits (OVERWRITING OPTIONS);
"""
DIGITS = f"INSERT INTO digits {COUNTED.strip()}"
SEEN = DIGITS.replace("digits", "seen").replace("numbers", "others")
LARGE = "INSERT INTO large SELECT digit, n FROM numbers WHERE n >= 1000;"
SET = f"EXECUTE STATEMENT SET BEGIN {DIGITS} {SEEN.replace('others', 'numbers')} {LARGE} END;"


@pytest.fixture
def parameters(broker: str) -> dict[str, str]:
    names = {name: fresh_name(name) for name in ("numbers", "others", "digits", "seen", "large")}
    for topic in names.values():
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    return {"brokers": broker, **names}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "several.sql"


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    assert process.wait(PATIENCE) == -signal.SIGKILL


def await_totals(process: subprocess.Popen[str], broker: str, topic: str, rows: list[dict[str, int]]) -> None:
    reports = batches(process)
    while read_table(broker, topic) != truth(rows):
        next(reports)


def terminate(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    for _ in batches(process):
        pass
    return process.wait(PATIENCE)


def read_notices(notices: IO[str]) -> str:
    """Opened separately: the process writes at this file's position."""
    return Path(notices.name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_killed_set_goes_on_and_every_table_is_the_truth(
    broker: str, script: Path, parameters: dict[str, str], tmp_path: Path
) -> None:
    script.write_text(f"{TABLES} {SET}")
    first, second = numbers(range(3000)), numbers(range(2000, 4000))
    produce(broker, parameters["numbers"], first)
    with (tmp_path / "notices").open("w+") as notices:
        with run_in_background(script, parameters, notices) as process:
            until_read(process, 1000, notices)
            kill(process)
        produce(broker, parameters["numbers"], second)
        with run_in_background(script, parameters, notices) as process:
            for topic in ("digits", "seen"):
                await_totals(process, broker, parameters[topic], first + second)
            assert terminate(process) == 0
        assert "continues where it stopped" in read_notices(notices)
    messages = [received.message.value for received in ScriptKafka(broker).read(parameters["large"])]
    written = [json.loads(value)["n"] for value in messages if value is not None]
    assert set(written) == set(range(1000, 4000))
    assert len(written) >= len([row for row in first + second if row["n"] >= 1000])


@pytest.mark.faults
def test_one_of_two_killed_jobs_goes_on_without_the_other(
    broker: str, script: Path, parameters: dict[str, str], tmp_path: Path
) -> None:
    script.write_text(f"{TABLES} {DIGITS} {SEEN}")
    first, second = numbers(range(3000)), numbers(range(2500, 3500))
    for topic in ("numbers", "others"):
        produce(broker, parameters[topic], first)
    with (tmp_path / "notices").open("w+") as notices:
        with run_in_background(script, parameters, notices) as process:
            jobs: set[str] = set()
            for batch in batches(process):
                jobs.add(batch["job"])
                if jobs == {"digits", "seen"}:
                    break
            kill(process)
        script.write_text(f"{TABLES} {SEEN}")
        produce(broker, parameters["others"], second)
        with run_in_background(script, parameters, notices) as process:
            await_totals(process, broker, parameters["seen"], first + second)
            assert terminate(process) == 0
        assert 'job "seen" continues where it stopped' in read_notices(notices)
        script.write_text(f"{TABLES} {DIGITS} {SEEN}")
        with run_in_background(script, parameters, notices) as process:
            await_totals(process, broker, parameters["digits"], first)
            assert terminate(process) == 0
        assert 'job "digits" continues where it stopped' in read_notices(notices)
    assert read_table(broker, parameters["seen"]) == truth(first + second)


@pytest.mark.slow
def test_job_that_fails_is_told_of_and_the_other_goes_on(
    broker: str, script: Path, parameters: dict[str, str], tmp_path: Path
) -> None:
    script.write_text(f"{TABLES} {DIGITS} {SEEN}")
    first, second = numbers(range(10)), numbers(range(5, 15))
    produce(broker, parameters["numbers"], first)
    ScriptKafka(broker).produce(parameters["others"], [Message(None, b"no row")], partition=0)
    with (tmp_path / "notices").open("w+") as notices, run_in_background(script, parameters, notices) as process:
        await_totals(process, broker, parameters["digits"], first)
        while "running on without it" not in read_notices(notices):
            produce(broker, parameters["numbers"], second[:1])
            first += second[:1]
            next(batches(process))
        assert "digits: running on without it" in read_notices(notices)
        produce(broker, parameters["numbers"], second)
        await_totals(process, broker, parameters["digits"], first + second)
        assert terminate(process) == 1
        assert read_notices(notices).count('job "seen" read a message') == 2
