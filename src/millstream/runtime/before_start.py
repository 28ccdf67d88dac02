"""Checks that everything a script asks for can be done, before any of its jobs start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError, by_place
from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Write
from millstream.runtime.kafka.shared_prefixes import find_shared_prefixes
from millstream.runtime.random_keys import random_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.tables import Sink, Source
    from millstream.plan.program import JobPlan, Program
    from millstream.sql.types import DataType, TypeRoot


def refuse_unbuilt(program: Program) -> None:
    """Raises all problems of the tables: options that are not supported yet, or that do not work on this machine."""
    problems = [*unbuilt_in(program), *_find_problems_here(program)]
    if problems:
        raise ScriptError(by_place(problems))


def unbuilt_in(program: Program) -> Iterator[Diagnostic]:
    """What can be parsed and planned but not run. It follows from the script alone, so `check` reports it too."""
    for job in program.jobs:
        for table in job.tables:
            yield from table.find_unsupported()
        yield from dict.fromkeys(_types(job))  # of a table that is read several times, each once
        yield from _check_statement_set(job)
        yield from _check_lookups(job)
        yield from random_keys(job)
    yield from find_shared_prefixes(program.jobs)


def _find_problems_here(program: Program) -> Iterator[Diagnostic]:
    """Skips folders that an earlier job of the script writes: they need not exist yet."""
    written: set[str | None] = set()
    for job in program.jobs:
        for scan in (*job.scans, *job.lookups):
            if scan.source.folder is None or scan.source.folder not in written:
                yield from scan.source.find_problems_here()
        for sink in (root.sink for root in job.roots if isinstance(root, Write)):
            yield from sink.find_problems_here()
            written.add(sink.folder)


def _check_statement_set(job: JobPlan) -> Iterator[Diagnostic]:
    """Reports why the INSERTs of a statement set cannot run as one query."""
    writes = [root for root in job.roots if isinstance(root, Write)]
    for root in writes if len(writes) > 1 else ():
        if not root.sink.is_kafka:
            yield _separate(
                root, f'a statement set cannot write to "{root.sink.table.name}", which is not a Kafka table'
            )


def _check_lookups(job: JobPlan) -> Iterator[Diagnostic]:
    """A table that rows are looked up in is in Python, and so are the columns that are computed from it."""
    for node in (node for root in job.roots for node in walk(root)):
        computed = (each for table in node.looked_up for each in walk(table) if isinstance(each, Project))
        for item in (item for each in computed for item in each.items if not item.is_selection):
            from millstream.plan.vectorised.forms import obstacle_of  # loads Arrow, which other scripts do not need

            if (obstacle := obstacle_of(item.expression, item.type)) is not None:
                yield Diagnostic(
                    Code.NOT_BUILT_YET,
                    f'column "{item.name}" cannot be computed for a lookup yet',
                    node.span,
                    detail=f"Only Spark can evaluate {obstacle}, and rows are looked up in Python.",
                    hint="Compute it above the join, from the columns of the table.",
                )


def _separate(root: Write, primary: str) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        primary,
        root.span,
        hint="Write this INSERT outside the set: it becomes a separate job.",
    )


def _types(job: JobPlan) -> Iterator[Diagnostic]:
    """Reports types that can be declared but not processed by a job."""
    used: list[tuple[Source | Sink, set[str]]] = [
        (scan.source, {column.name for column in scan.columns}) for scan in (*job.logical_scans, *job.lookups)
    ]
    used += [(root.sink, set(root.sink.table.column_names)) for root in job.roots if isinstance(root, Write)]
    for end, names in used:
        for column in end.table.physical_columns:
            if column.name in names and (root := _part_of(column.type, end.unsupported_types)):
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
