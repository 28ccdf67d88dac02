"""`millstream run` as a process: killed, restarted, stopped by a signal."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from millstream.runtime.kafka.admin import KafkaAdmin
from tests.faults.processes import COMMAND, batches, jvm_of, processes, run_in_background, until_read
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_killed_job_goes_on_and_the_folded_result_is_the_truth(broker: str, tmp_path: Path) -> None:
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters["numbers"], "numbers")
    folder = tmp_path / "a folder with blanks"
    folder.mkdir()
    script = folder / "digits.sql"
    script.write_text(f"SET 'millstream.batch.max-rows' = '500';\n{SCRIPT}")
    first, second = numbers(range(3000)), numbers(range(2000, 4000))
    produce(broker, parameters["numbers"], first)
    with (tmp_path / "notices").open("w+") as notices:
        with run_in_background(script, parameters, notices) as process:
            until_read(process, 1000, notices)
            process.send_signal(signal.SIGKILL)
            assert process.wait(PATIENCE) == -signal.SIGKILL
        produce(broker, parameters["numbers"], second)
        with run_in_background(script, parameters, notices) as process:
            until_read(process, 2000, notices)
            while read_table(broker, parameters["digits"]) != truth(first + second):
                next(batches(process))
            process.send_signal(signal.SIGTERM)
            for _ in batches(process):
                pass
            assert process.wait(PATIENCE) == 0
        notices.seek(0)
        output = notices.read()
    assert "continues where it stopped" in output
    assert "stopping after the current batch" in output
    assert read_table(broker, parameters["digits"]) == truth(first + second)


@pytest.mark.slow
def test_killed_jvm_is_told_in_words(broker: str, tmp_path: Path) -> None:
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters["numbers"], "numbers")
    produce(broker, parameters["numbers"], numbers(range(10)))
    script = tmp_path / "digits.sql"
    script.write_text(SCRIPT)
    with (tmp_path / "notices").open("w+") as notices, run_in_background(script, parameters, notices) as process:
        until_read(process, 10, notices)
        jvm = jvm_of(process.pid, processes())
        assert jvm is not None
        os.kill(jvm, signal.SIGKILL)
        for _ in batches(process):
            pass
        assert process.wait(PATIENCE) == 1
        notices.seek(0)
        output = notices.read()
    assert "Spark ended unexpectedly" in output
    assert "Traceback" not in output


def test_demo_is_equal_to_the_truth_and_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    demo = subprocess.run(
        [*COMMAND, "demo", "--rows", "5000", "--seconds", "1"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "equal: 5,000 page views" in demo.stdout
    assert list(tmp_path.iterdir()) == []
    assert not subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False).stdout
