"""Runs one job as a process and measures it from batch to batch."""

from __future__ import annotations

import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.testing.script_kafka import ScriptKafka
from tests.endurance.kinds import PARTITIONS, TOPICS, fill
from tests.endurance.limits import Trend, trends
from tests.endurance.measures import least, live_heap, sample
from tests.faults.orders_job import drain
from tests.faults.processes import batches, run_in_background
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.endurance.kinds import Kind
    from tests.endurance.measures import Sample

_READINGS: Final = 5
_SPARE: Final = 20
"""Batches of input beyond the last one that is measured: a job that waits for input holds less."""


@dataclass(frozen=True, slots=True)
class Endurance:
    """Compares what a job holds after some batches; the first of `marks` is its warm-up."""

    brokers: str
    marks: tuple[int, ...]

    def run(self, kind: Kind, on_batch: Callable[[int], None] = lambda _: None) -> list[Trend]:
        kafka = ScriptKafka(self.brokers)
        topics = {topic: fresh_name(topic) for topic in TOPICS}
        for topic in topics.values():
            kafka.create_topic(topic, PARTITIONS)
        fill(kafka, topics["orders"], self.marks[-1] + _SPARE)
        with (
            tempfile.TemporaryDirectory(prefix="endurance-", ignore_cleanup_errors=True) as name,
            (Path(name) / "notices").open("w+") as notices,
        ):
            folder = Path(name)
            script = folder / "job.sql"
            script.write_text(kind.script)
            temporary = folder / "tmp"
            temporary.mkdir()
            parameters = {"brokers": self.brokers, "temporary": str(temporary), **topics}
            used = {each: value for each, value in parameters.items() if f"${{{each}}}" in kind.script}
            with run_in_background(script, used, notices, environment={"TMPDIR": str(temporary)}) as job:
                port = int(self.brokers.rpartition(":")[2])

                def measure() -> Sample:
                    return sample(job.pid, port, folder / ".millstream" / "job", temporary)

                numbers = _numbers(batches(job), on_batch)
                samples: list[Sample] = []
                try:
                    for mark in self.marks:
                        held = _after(mark, numbers, measure)
                        assert held, f"the job ended: {(folder / 'notices').read_text()}"
                        samples.append({**held, **live_heap(job.pid)})
                finally:
                    job.send_signal(signal.SIGTERM)
                    drain(job)
        return trends(samples)


def _numbers(events: Iterator[dict[str, object]], on_batch: Callable[[int], None]) -> Iterator[int]:
    for progress in events:
        number = int(str(progress["batch"]))
        on_batch(number)
        yield number


def _after(batch: int, numbers: Iterator[int], measure: Callable[[], Sample]) -> Sample:
    """Empty if the job ended before."""
    readings: list[Sample] = []
    for number in numbers:
        if number >= batch:
            readings.append(measure())
        if len(readings) == _READINGS:
            return least(readings)
    return {}
