"""Runs a script test against a real broker and a real Spark session.

Messages that one `$ produce` sends to one partition reach a job together, in one batch. So the messages that a job
writes are the same in every run if the rows of each group come from one partition; the order between groups is not.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError
from millstream.runtime.session import Session
from millstream.testing.script_action import BROKERS
from millstream.testing.script_kafka import ScriptKafka, show_avro
from millstream.testing.script_messages import Message, Received, fold, in_key_order
from millstream.testing.script_record import Rewrite, rewritten
from millstream.testing.script_steps import (
    Answer,
    AwaitCaughtUp,
    AwaitFailure,
    Consume,
    CreateTopic,
    Execute,
    Order,
    Produce,
    Refuse,
    Restart,
    Shown,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.plan.program import Listing, Text
    from millstream.runtime.job import Job
    from millstream.testing.script_steps import ScriptFile, Step

_DIFF_CONTEXT: Final = 1000


@dataclass(frozen=True, slots=True)
class ScriptContext:
    """The environment of a script test."""

    bootstrap: str
    spark: SparkSession | None
    """None only if no statement starts a job."""
    folder: Path
    """Contains the checkpoints; empty at the start."""
    seed: str
    """Part of the name of each topic, so that no two runs share one."""


def run_script_file(script: ScriptFile, around: ScriptContext) -> None:
    """Raises AssertionError, with file and line, at the first step that does not behave as written."""
    _Run(script, around, records=False).run()


def record_script_file(script: ScriptFile, around: ScriptContext) -> str:
    """The file's text with the expected messages and codes replaced so that the test would pass."""
    run = _Run(script, around, records=True)
    run.run()
    return rewritten(script.source.text, run.rewrites)


class _Run:
    def __init__(self, script: ScriptFile, around: ScriptContext, *, records: bool) -> None:
        self.rewrites: list[Rewrite] = []
        self._script = script
        self._around = around
        self._records = records
        self._kafka = ScriptKafka(around.bootstrap)
        self._parameters = {BROKERS: around.bootstrap}
        self._executed: list[str] = []
        self._seen: set[tuple[str, int, int]] = set()
        self._shown: list[str] = []
        self._failed: set[Job] = set()
        self._session = self._new_session()

    def run(self) -> None:
        step = self._script.steps[0]
        try:
            for step in self._script.steps:
                self._take(step)
            for job in self._running_jobs():
                job.raise_failure()
        except AssertionError:
            raise
        except Exception as error:
            kind = "" if isinstance(error, MillstreamError) else f" with {type(error).__name__}"
            raise AssertionError(f"{self._place(step)} failed{kind}\n{error}") from error
        finally:
            self._session.stop()

    def _take(self, step: Step) -> None:
        match step:
            case CreateTopic():
                real = f"{step.name}-{self._around.seed}"
                self._kafka.create_topic(real, step.partitions)
                self._parameters[step.name] = real
            case Produce():
                self._kafka.produce(self._parameters[step.topic], step.messages, step.partition)
            case Execute() | Answer():
                self._take_sql(step)
            case Refuse():
                self._compare_error(step, _error_of(lambda: self._execute(step.sql)))
            case AwaitCaughtUp():
                self._await_caught_up(step)
            case AwaitFailure():
                self._await_failure(step)
            case Consume():
                self._consume(step)
            case Shown():
                self._compare_output(step, step.order)
            case Restart():
                self._restart()

    def _execute(self, sql: str) -> None:
        self._session.execute_sql(sql, name=self._script.source.name, parameters=self._parameters)

    def _take_sql(self, step: Execute | Answer) -> None:
        if isinstance(step, Execute):
            self._execute(step.sql)
            self._executed.append(step.sql)
            return
        self._shown.clear()
        self._execute(step.sql)
        self._compare_output(step, Order.OFFSET)

    def _compare_output(self, step: Answer | Shown, order: Order) -> None:
        expected = list(step.expected)
        found = [line.rstrip() for line in self._shown if line.strip()]
        self._shown.clear()
        if order is Order.ANY:
            expected, found = sorted(expected), sorted(found)
        self._compare(step, expected, found)

    def _await_caught_up(self, step: AwaitCaughtUp) -> None:
        jobs = self._running_jobs()
        if not jobs:
            raise AssertionError(f"{self._place(step)} no job runs")
        for _ in jobs:  # a job may read what another one writes, even one started later
            for job in jobs:
                job.await_caught_up(step.timeout)

    def _await_failure(self, step: AwaitFailure) -> None:
        wanted = [job for job in self._running_jobs() if step.job in (None, job.name)]
        if len(wanted) != 1:
            names = ", ".join(job.name for job in self._running_jobs()) or "none"
            raise AssertionError(f"{self._place(step)} name one job of these: {names}")
        (job,) = wanted
        self._failed.add(job)
        self._compare_error(step, _error_of(lambda: job.await_end(step.timeout)))

    def _restart(self) -> None:
        self._session.stop()
        self._session = self._new_session()
        for sql in self._executed:
            self._execute(sql)

    def _consume(self, step: Consume) -> None:
        try:
            received = [
                show_avro(found, step.key_columns, step.value_columns)
                for found in self._kafka.read(self._parameters[step.topic])
            ]
            found = fold(received) if step.view is View.FOLDED else self._new_messages(step, received)
        except ValueError as error:
            raise AssertionError(f"{self._place(step)} topic {step.topic} has {error}") from None
        order = Order.KEY if step.view is View.FOLDED else step.order
        self._compare(step, _order(step.expected, order), _order(found, order))

    def _new_messages(self, step: Consume, received: list[Received]) -> list[Message]:
        places = {(step.topic, found.partition, found.offset): _view(found, step.view) for found in received}
        messages = [message for place, message in places.items() if place not in self._seen]
        self._seen |= places.keys()
        return messages

    def _compare_error(self, step: Refuse | AwaitFailure, error: MillstreamError | None) -> None:
        if error is None:
            raise AssertionError(f"{self._place(step)} this must fail, and did not")
        for text in step.contains:
            if text not in str(error):
                raise AssertionError(f'{self._place(step)} the error does not contain "{text}"\n{error}')
        expected = [f"code: {code}" for code in step.codes]
        self._compare(step, expected, [f"code: {found.code}" for found in error.diagnostics], str(error))

    def _compare(
        self,
        step: Consume | Answer | Shown | Refuse | AwaitFailure,
        expected: list[str],
        found: list[str],
        why: str = "",
    ) -> None:
        if expected == found:
            return
        if self._records:
            self.rewrites.append(Rewrite(step.block, tuple(found)))
            return
        difference = difflib.unified_diff(expected, found, "expected", "found", "", "", _DIFF_CONTEXT, "")
        raise AssertionError("\n".join((f"{self._place(step)} found something else", *difference, why)))

    def _running_jobs(self) -> list[Job]:
        return [job for job in self._session.jobs if job not in self._failed]

    def _new_session(self) -> Session:
        return Session(
            self._around.spark,
            checkpoint=self._around.folder / "checkpoint",
            on_answer=self._take_answer,
            on_rows=self._shown.extend,
        )

    def _take_answer(self, answer: Listing | Text) -> None:
        self._shown += answer.render().split("\n")

    def _place(self, step: Step) -> str:
        return f"{self._script.source.name}:{step.line}:"


def _error_of(action: Callable[[], object]) -> MillstreamError | None:
    try:
        action()
    except MillstreamError as error:
        return error
    return None


def _view(received: Received, view: View) -> Message:
    match view:
        case View.PARTITIONS:
            return received.under_its_partition
        case View.HEADERS:
            return received.under_its_headers
        case _:
            return received.message


def _order(messages: Iterable[Message], order: Order) -> list[str]:
    match order:
        case Order.KEY:
            return [message.line for message in in_key_order(messages)]
        case Order.OFFSET:
            return [message.line for message in messages]
        case Order.ANY:
            return sorted(message.line for message in messages)
