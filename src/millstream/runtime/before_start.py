"""What is settled before the jobs of a script start: that all of it can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.custom_partitioner import partitioner_problems
from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.connectors.legacy import open_reader
from millstream.connectors.local.filesystem import PATH, path_problem
from millstream.connectors.local.tables import FilesystemSink, FilesystemSource
from millstream.connectors.not_yet import unbuilt
from millstream.errors import Code, Diagnostic, ScriptError, by_place
from millstream.plan.nodes import Write
from millstream.runtime.kafka.shared_prefixes import shared_prefixes
from millstream.runtime.random_keys import random_keys
from millstream.spark.kafka_properties import writer_options
from millstream.sql.types import INTERVALS, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.tables import Sink, Source
    from millstream.plan.program import JobPlan, Program
    from millstream.sql.types import DataType

_NOT_IN_FILES: Final = INTERVALS | {TypeRoot.TIME}
"""Spark has no way to hand intervals to Python, and its files know another TIME than the formats of messages."""


def refuse_unbuilt(program: Program) -> None:
    """Raises all that the tables say and no job can do yet, or not on this machine."""
    partitioners = (wrong for sink in kafka_sinks(program) for wrong in partitioner_problems(sink))
    problems = [*unbuilt_in(program), *partitioners, *_missing_paths(program)]
    if problems:
        raise ScriptError(by_place(problems))


def unbuilt_in(program: Program) -> Iterator[Diagnostic]:
    """What can be read and planned and not be run: known from the script alone, so `check` tells it too."""
    for job in program.jobs:
        for table in job.tables:
            if isinstance(table, KafkaSource | KafkaSink):
                yield from unbuilt(table)
        yield from _types(job)
        yield from _set(job)
        yield from random_keys(job)
    yield from shared_prefixes(program.jobs)


def kafka_sinks(program: Program) -> Iterator[KafkaSink]:
    for job in program.jobs:
        yield from (table for table in job.tables if isinstance(table, KafkaSink))


def _missing_paths(program: Program) -> Iterator[Diagnostic]:
    """A folder that an earlier job of the script writes need not be there yet."""
    written: set[str] = set()
    for job in program.jobs:
        for table in job.tables:
            if not isinstance(table, FilesystemSource | FilesystemSink):
                continue
            wrong = path_problem(table, open_reader(table.table).value_place(PATH.key))
            is_made_before = isinstance(table, FilesystemSource) and table.path in written
            if wrong is not None and not is_made_before:
                yield wrong
            if isinstance(table, FilesystemSink):
                written.add(table.path)


def _set(job: JobPlan) -> Iterator[Diagnostic]:
    """What keeps the INSERTs of a statement set from being one query."""
    writes = [root for root in job.roots if isinstance(root, Write)]
    first = writes[0].sink if writes else None
    for root in writes if len(writes) > 1 else ():
        if not isinstance(root.sink, KafkaSink):
            yield _separate(root, f'a statement set cannot write to "{root.sink.table.name}", which is no Kafka table')
        elif isinstance(first, KafkaSink) and writer_options(root.sink.properties) != writer_options(first.properties):
            yield _separate(
                root, f'tables "{first.table.name}" and "{root.sink.table.name}" of a set differ in \'properties.*\''
            )


def _separate(root: Write, primary: str) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        primary,
        root.span,
        hint="Write this INSERT outside the set: it becomes a job of its own.",
    )


def _types(job: JobPlan) -> Iterator[Diagnostic]:
    """Types that can be declared and not be carried through a job."""
    used: list[tuple[Source | Sink, set[str]]] = [(scan.source, {c.name for c in scan.columns}) for scan in job.scans]
    used += [(root.sink, set(root.sink.table.column_names)) for root in job.roots if isinstance(root, Write)]
    for end, names in used:
        refused = _NOT_IN_FILES if isinstance(end, FilesystemSource | FilesystemSink) else INTERVALS
        for column in end.table.physical_columns:
            if column.name in names and (root := _part_of(column.type, refused)):
                yield Diagnostic(
                    Code.NOT_BUILT_YET,
                    f'column "{column.name}" of type {root} cannot be read or written yet',
                    column.span,
                    hint="Declare it as STRING or BIGINT, or leave it out of the query.",
                )


def _part_of(type_: DataType, refused: frozenset[TypeRoot]) -> TypeRoot | None:
    if type_.root in refused:
        return type_.root
    inner = (type_.key, type_.element, *(field.type for field in type_.fields))
    return next((found for part in inner if part is not None and (found := _part_of(part, refused))), None)
