"""Ends jobs at a failpoint, restarts them, and checks their topic: the table of crash cases in docs/reliability.md."""

from __future__ import annotations

import json
import signal
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.option_values import DeliveryGuarantee
from millstream.failpoints import FAILPOINTS, VARIABLE
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.faults.crash_jobs import CRASH_JOBS, EVERY_GUARANTEE, ROWS, CrashJob
from tests.faults.processes import run_to_end
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
    from pathlib import Path

PARTITIONS: Final = 3
"""Fewer than five: in that case Spark numbers its tasks differently when it repeats a batch."""
ARROW_ROWS: Final = 20
"""Rows that are passed to Python together: a task has several such batches, and may end between two of them."""
_SECONDS: Final = 300
_WITH_STATE: Final = ("before-state", "before-manifest", "after-state")
_IN_THE_DRIVER: Final = ("after-task", "after-batch")
_IN_TRANSACTIONS: Final = ("before-init", "after-begin", "before-offsets", "after-offsets", "after-commit")


class Ending(StrEnum):
    """How a job is ended: by SIGKILL to all its processes, by an exception in a task, or by a second Ctrl-C."""

    KILLED = ""
    FAILED = "raise"
    CANCELLED = "cancel"


@dataclass(frozen=True)
class Crash:
    guarantee: DeliveryGuarantee
    job: CrashJob
    failpoint: str
    time: int
    """On which visit of a process to the failpoint it ends."""
    ending: Ending = Ending.KILLED

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.guarantee, self.job.name, self.failpoint, str(self.time), self.ending)))

    @property
    def failpoint_setting(self) -> str:
        return ":".join(filter(None, (self.failpoint, str(self.time), self.ending)))

    @property
    def is_reachable(self) -> bool:
        if self.failpoint in _WITH_STATE:
            return self.job.has_state
        if self.failpoint == "before-init" and self.time > 1:
            return False  # a producer outlives a batch, and a process has few of them
        if self.ending is not Ending.KILLED and self.failpoint in _IN_THE_DRIVER:
            return False  # the batch is practically over
        is_once = self.guarantee is DeliveryGuarantee.EXACTLY_ONCE
        return is_once or self.failpoint not in _IN_TRANSACTIONS


_ENDINGS: Final = {
    DeliveryGuarantee.EXACTLY_ONCE: (
        (1, Ending.KILLED),
        (3, Ending.KILLED),
        (3, Ending.FAILED),
        (2, Ending.CANCELLED),
    ),
    DeliveryGuarantee.AT_LEAST_ONCE: ((1, Ending.KILLED), (3, Ending.KILLED)),
    DeliveryGuarantee.NONE: ((3, Ending.KILLED),),
}
"""In the first batch, and in a later one, when there are state and progress; the last two are equivalent.

Arrow batches are so small that the second and the third time are in the middle of a task.
"""

_IN_LATER_KERNELS: Final = {
    DeliveryGuarantee.EXACTLY_ONCE: (
        (16, Ending.KILLED),
        (30, Ending.KILLED),
        (53, Ending.KILLED),
        (30, Ending.FAILED),
        (19, Ending.CANCELLED),
    ),
    DeliveryGuarantee.AT_LEAST_ONCE: ((16, Ending.KILLED), (53, Ending.KILLED)),
    DeliveryGuarantee.NONE: ((30, Ending.KILLED),),
}
"""In jobs with several kernels, to whose state a worker comes eleven times in a batch, in order: the earlier visits are
all to the first kernels in the first batch, these to the joins and EXCEPT above them in the second, third and last.
"""


def _endings(guarantee: DeliveryGuarantee, job: CrashJob, failpoint: str) -> tuple[tuple[int, Ending], ...]:
    is_deep = job.has_several_kernels and failpoint in _WITH_STATE
    return _ENDINGS[guarantee] + (_IN_LATER_KERNELS[guarantee] if is_deep else ())


CRASHES: Final = tuple(
    crash
    for guarantee in EVERY_GUARANTEE
    for job in CRASH_JOBS
    if guarantee in job.guarantees
    for failpoint in FAILPOINTS
    for time, ending in _endings(guarantee, job, failpoint)
    if (crash := Crash(guarantee, job, failpoint, time, ending)).is_reachable
)


@dataclass(frozen=True)
class Found:
    """What is in the topic after the restart.

    For exactly-once it is compared with the messages of an undisturbed run; otherwise the folded table is compared with
    the truth, and `twice` counts messages that were written again.
    """

    messages: int
    missing: int
    twice: int

    def keeps(self, guarantee: DeliveryGuarantee) -> bool:
        may_repeat = guarantee is not DeliveryGuarantee.EXACTLY_ONCE
        return self.messages > 0 and self.missing == 0 and (may_repeat or self.twice == 0)


def _is_ended_by(crash: Crash, run: subprocess.CompletedProcess[str]) -> bool:
    match crash.ending:
        case Ending.KILLED:
            return run.returncode == -signal.SIGKILL
        case Ending.FAILED:
            return run.returncode == 1 and f"failpoint {crash.failpoint}" in run.stderr
        case Ending.CANCELLED:  # several tasks may reach it and send Ctrl-C, some while the job is already ending
            return run.returncode != 0 and "interrupt again to stop now" in run.stderr


class Bench:
    """Fills topics and runs jobs, each in a process of its own; can be used by several threads."""

    def __init__(self, brokers: str, folder: Path) -> None:
        self._brokers = brokers
        self._folder = folder
        self._kafka = ScriptKafka(brokers)
        self._filling = Lock()
        self._referring = {job.name: Lock() for job in CRASH_JOBS}
        self._sources: dict[str, str] = {}
        self._undisturbed: dict[str, Counter[Message]] = {}

    def survive(self, crash: Crash) -> Found:
        sink = self._topic("sink")
        folder = self._folder / crash.name
        first = self._run(crash.job, crash.guarantee, folder, sink, crash.failpoint_setting)
        assert _is_ended_by(crash, first), f"{crash.name} was not come by ({first.returncode}): {first.stderr}"
        second = self._run(crash.job, crash.guarantee, folder, sink)
        assert second.returncode == 0, second.stderr
        messages = self._messages(sink)
        if crash.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return compare_with_undisturbed(Counter(messages), self._reference(crash.job))
        return compare_with_truth(messages, crash.job)

    def _reference(self, job: CrashJob) -> Counter[Message]:
        """The messages of an undisturbed run with the same input in the same batches."""
        with self._referring[job.name]:
            if job.name not in self._undisturbed:
                sink = self._topic("sink")
                run = self._run(job, DeliveryGuarantee.EXACTLY_ONCE, self._folder / f"undisturbed-{job.name}", sink)
                assert run.returncode == 0, run.stderr
                messages = self._messages(sink)
                assert job.fold(messages) == job.truth()
                self._undisturbed[job.name] = Counter(messages)
        return self._undisturbed[job.name]

    def _source(self, job: CrashJob) -> str:
        with self._filling:
            if job.name not in self._sources:
                source = self._topic("source")
                for partition in range(PARTITIONS):
                    rows = (json.dumps(job.value(number)).encode() for number in _rows_of(partition))
                    self._kafka.produce(source, (Message(None, row) for row in rows), partition)
                self._sources[job.name] = source
        return self._sources[job.name]

    def _topic(self, stem: str) -> str:
        name = fresh_name(stem)
        self._kafka.create_topic(name, PARTITIONS)
        return name

    def _messages(self, topic: str) -> list[Message]:
        return [received.message for received in self._kafka.read(topic)]

    def _run(
        self, job: CrashJob, guarantee: DeliveryGuarantee, folder: Path, sink: str, armed: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        folder.mkdir(exist_ok=True)
        settings = (
            f"SET 'millstream.batch.max-rows' = '{ROWS // 5}';\nSET 'parallelism.default' = '2';\n"
            f"SET 'spark.sql.execution.arrow.maxRecordsPerBatch' = '{ARROW_ROWS}';\n"
        )
        script = folder / "job.sql"
        script.write_text(settings + job.script_for(guarantee))
        parameters = {"brokers": self._brokers, "source": self._source(job), "sink": sink}
        environment = {} if armed is None else {VARIABLE: armed}
        return run_to_end(script, parameters, environment=environment, seconds=_SECONDS)


def _rows_of(partition: int) -> list[int]:
    """Both changes of a row are in the same partition, in order."""
    return [number for number in range(ROWS) if number // 2 % PARTITIONS == partition]


def compare_with_undisturbed(found: Counter[Message], expected: Counter[Message]) -> Found:
    return Found(found.total(), (expected - found).total(), (found - expected).total())


def compare_with_truth(messages: Sequence[Message], job: CrashJob) -> Found:
    """A row that should not be there counts like one that is missing."""
    table, truth = job.fold(messages), job.truth()
    differing = sum(table.get(key) != truth.get(key) for key in table.keys() | truth.keys())
    return Found(len(messages), differing, len(messages) - len(set(messages)))
