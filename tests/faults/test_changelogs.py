"""Jobs over changelogs, killed while a batch is under way and started again: what they write is the truth."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from typing import IO, TYPE_CHECKING, Any

from millstream.testing.script_kafka import ScriptKafka
from tests.faults.changelog_jobs import SCRIPT, TOPICS, Input, steps_that_change_nothing
from tests.faults.processes import COMMAND, running
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 400


def newest(folder: Path) -> int:
    return max((int(entry.name) for entry in folder.glob("[0-9]*") if entry.name.isdigit()), default=-1)


def has_begun(job: Path) -> bool:
    """A batch is planned; nothing of it is written yet, or a part."""
    return newest(job / "offsets") > max(newest(job / "commits"), 0)


def has_stored(job: Path) -> bool:
    """Some task of the batch under way has stored its state; the batch is not committed."""
    batch = newest(job / "offsets")
    stored = any((job / "state").rglob(f"{batch + 1}*.changelog")) if batch > newest(job / "commits") else False
    return stored and newest(job / "commits") < batch


def kill_when(process: Any, is_time: Callable[[], bool], notices: IO[str]) -> None:
    while not is_time():
        assert process.poll() is None, said(notices)
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL


def said(notices: IO[str]) -> str:
    notices.seek(0)
    return notices.read()


def written(kafka: ScriptKafka, topic: str) -> dict[str, list[bytes | None]]:
    """All messages of each key, in their order."""
    found: dict[str, list[bytes | None]] = {}
    for received in kafka.read(topic):
        assert received.message.key is not None
        found.setdefault(received.message.key.decode(), []).append(received.message.value)
    return found


def test_killed_jobs_over_changelogs_go_on_to_the_truth(broker: str, tmp_path: Path) -> None:
    kafka, given = ScriptKafka(broker), Input()
    parameters = {"brokers": broker, **{name: fresh_name(name) for name in TOPICS}}
    for topic in TOPICS:
        kafka.create_topic(parameters[topic], 2)
    script = tmp_path / "changes.sql"
    script.write_text(SCRIPT)
    jobs = tmp_path / ".millstream" / "changes" / "jobs"
    moments: list[Callable[[], bool]] = [
        lambda: has_begun(jobs / "sizes"),
        lambda: has_stored(jobs / "holders"),
        lambda: has_stored(jobs / "regions") or has_stored(jobs / "kernel"),
    ]
    with (tmp_path / "notices").open("w+") as notices:
        for moment in moments:
            for topic, messages in given.round(ROWS).items():
                kafka.produce(parameters[topic], messages, partition=None)
            with running(script, parameters, notices) as process:
                kill_when(process, moment, notices)
        given_names = [part for name, value in parameters.items() for part in ("--param", f"{name}={value}")]
        last = [*COMMAND, "run", str(script), *given_names, "--output", "json", "--drain"]
        drained = subprocess.run(last, cwd=tmp_path, stdout=subprocess.PIPE, stderr=notices, text=True, check=False)
        assert drained.returncode == 0, said(notices)
        assert sum(json.loads(line)["ignored_retractions"] for line in drained.stdout.splitlines()) == 0
        assert said(notices).count("goes on where it stopped") >= len(moments)
    topics = {sink: written(kafka, parameters[sink]) for sink in ("native", "kernel", "regions", "sizes", "holders")}
    for sink, keys in topics.items():
        assert max(map(steps_that_change_nothing, keys.values())) <= len(moments), sink
    tables = {
        sink: {key: json.loads(values[-1]) for key, values in keys.items() if values[-1] is not None}
        for sink, keys in topics.items()
    }
    for sink in ("native", "regions", "sizes"):
        assert tables[sink] == given.truth(sink), sink
    assert tables["kernel"] == tables["native"]
    assert tables["holders"].keys() == given.holders().keys()
    assert all(row["player"] in given.holders()[score] for score, row in tables["holders"].items())
    for sink in ("native", "kernel"):
        for values in topics[sink].values():
            counts = [json.loads(value)["n"] for value in values if value is not None]
            assert counts == sorted(counts), f"{sink}: a count of inserts fell"
    for sink in ("regions", "sizes"):
        assert any(None in values for values in topics[sink].values()), f"{sink}: nothing was ever deleted"
