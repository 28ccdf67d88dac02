"""Jobs over changelogs that are killed during a batch and restarted: their output is correct."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

import pytest

from millstream.testing.script_kafka import ScriptKafka
from tests.faults.changelog_jobs import MOVES, TOPICS, TOTALS, Input
from tests.faults.processes import COMMAND, run_in_background
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 500
MAY_GO_TWICE = ("holders",)
"""Jobs whose input deletes rows that do not exist."""
Messages = dict[str, list[bytes | None]]


def newest(folder: Path) -> int:
    return max((int(entry.name) for entry in folder.glob("[0-9]*") if entry.name.isdigit()), default=-1)


def has_begun(job: Path) -> bool:
    """A batch after the first is planned, and nothing of it, or only a part, is written."""
    return newest(job / "offsets") > max(newest(job / "commits"), 0)


def has_stored(job: Path) -> bool:
    """A task of the current batch has stored its state, and the batch is not committed."""
    batch = newest(job / "offsets")
    is_under_way = batch > newest(job / "commits")
    return is_under_way and any((job / "kernels").glob(f"*/*/{batch}.json")) and newest(job / "commits") < batch


class Jobs:
    """A script, its topics, and its output when it runs."""

    def __init__(self, script: str, broker: str, folder: Path) -> None:
        self.kafka, self.input = ScriptKafka(broker), Input()
        self.folder = folder / ".millstream" / "changes" / "jobs"
        self._topics = {name: fresh_name(name) for name in TOPICS}
        self._parameters = {"brokers": broker, **self._topics}
        self._script = folder / "changes.sql"
        self._script.write_text(script)
        for topic in self._topics.values():
            self.kafka.create_topic(topic, 2)

    def produce(self) -> None:
        for topic, messages in self.input.round(ROWS).items():
            self.kafka.produce(self._topics[topic], messages, partition=None)

    def run_and_kill(self, is_time: Callable[[], bool], notices: IO[str]) -> None:
        with run_in_background(self._script, self._parameters, notices) as process:
            deadline = time.monotonic() + PATIENCE
            while not is_time():
                assert process.poll() is None, read_notices(notices)
                assert time.monotonic() < deadline, read_notices(notices)
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            assert process.wait(PATIENCE) == -signal.SIGKILL

    def drain(self, notices: IO[str]) -> None:
        arguments = [part for name, value in self._parameters.items() for part in ("--param", f"{name}={value}")]
        command = [*COMMAND, "run", str(self._script), *arguments, "--output", "json", "--drain"]
        place = self._script.parent
        done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=notices, text=True, check=False)
        assert done.returncode == 0, read_notices(notices)
        event = [json.loads(line) for line in done.stdout.splitlines()]
        assert sum(batch["ignored_retractions"] for batch in event if batch["job"] not in MAY_GO_TWICE) == 0

    def read_messages(self, sink: str) -> Messages:
        """The values of each key, in order."""
        found: Messages = {}
        for received in self.kafka.read(self._topics[sink]):
            assert received.message.key is not None
            found.setdefault(received.message.key.decode(), []).append(received.message.value)
        return found


def read_notices(notices: IO[str]) -> str:
    notices.seek(0)
    return notices.read()


def after_kills(jobs: Jobs, folder: Path, *moments: Callable[[], bool]) -> None:
    with (folder / "notices").open("w+") as notices:
        for moment in moments:
            jobs.produce()
            jobs.run_and_kill(moment, notices)
        jobs.drain(notices)
        assert read_notices(notices).count("continues where it stopped") >= len(moments)


def table_of(messages: Messages, kills: int) -> dict[str, Any]:
    """The last row of each key. Each kill repeats one batch, which repeats at most one message of a key."""
    for key, values in messages.items():
        assert values[0] is not None, f"a tombstone for {key}, which was never written"
        assert sum(before == after for before, after in pairwise(values)) <= kills, f"{key} is written over and over"
    return {key: json.loads(values[-1]) for key, values in messages.items() if values[-1] is not None}


@pytest.mark.slow
def test_totals(broker: str, tmp_path: Path) -> None:
    jobs = Jobs(TOTALS, broker, tmp_path)
    totals = jobs.folder / "totals"
    after_kills(jobs, tmp_path, lambda: has_begun(totals), lambda: has_stored(totals))
    found = jobs.read_messages("totals")
    assert table_of(found, kills=2) == jobs.input.truth("totals")
    for values in found.values():
        counts = [json.loads(value)["n"] for value in values if value is not None]
        assert len(counts) == len(values), "a group of inserts was deleted"
        assert counts == sorted(counts), "a count of inserts fell"


@pytest.mark.faults
def test_rows_that_move_and_go(broker: str, tmp_path: Path) -> None:
    jobs = Jobs(MOVES, broker, tmp_path)
    sizes, holders = jobs.folder / "sizes", jobs.folder / "holders"
    moments = (lambda: has_begun(sizes), lambda: has_stored(holders), lambda: has_stored(sizes))
    after_kills(jobs, tmp_path, *moments)
    found = {sink: jobs.read_messages(sink) for sink in ("sizes", "holders")}
    assert table_of(found["sizes"], kills=3) == jobs.input.truth("sizes")
    held, claimed = table_of(found["holders"], kills=3), jobs.input.holders()
    assert held.keys() == claimed.keys()
    assert all(row["player"] in claimed[score] for score, row in held.items())
    for sink, messages in found.items():
        assert any(None in values for values in messages.values()), f"{sink}: nothing was ever deleted"
