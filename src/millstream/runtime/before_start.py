"""What is settled before the jobs of a script start: that all of it can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.custom_partitioner import partitioner_problems
from millstream.connectors.filesystem import path_problem
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.local_tables import FilesystemSink, FilesystemSource
from millstream.connectors.not_yet import unbuilt
from millstream.errors import ScriptError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.tables import Sink, Source
    from millstream.errors import Diagnostic
    from millstream.plan.program import Program


def refuse_unbuilt(program: Program) -> None:
    """Raises all that the tables say and no job can do yet, or not on this machine."""
    problems = [problem for job in program.jobs for table in job.tables for problem in _problems(table)]
    if problems:
        raise ScriptError(dict.fromkeys(problems))


def _problems(table: Source | Sink) -> Iterator[Diagnostic]:
    match table:
        case KafkaSource():
            yield from unbuilt(table)
        case KafkaSink():
            yield from unbuilt(table)
            yield from partitioner_problems(table)
        case FilesystemSource() | FilesystemSink():
            if problem := path_problem(table):
                yield problem
