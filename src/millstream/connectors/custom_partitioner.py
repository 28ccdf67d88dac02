"""A partitioner that the user wrote in Python: `'sink.partitioner' = 'module:Class'`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from millstream.catalog.user_modules import NotImportableError, import_named
from millstream.connectors.kafka_sink_options import PARTITIONER
from millstream.connectors.legacy import open_reader
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Sequence

    from millstream.connectors.kafka_tables import KafkaSink


class SinkPartitioner(Protocol):
    """What the class has to look like. It is made without arguments, in every task that writes a batch.

    It may have a method `open(task, tasks)` too, called before the first row: `task` is the task's number from 0,
    `tasks` how many there are where 'sink.parallelism' says so, else None.
    """

    def partition(self, key: bytes | None, value: bytes | None, topic: str, partitions: Sequence[int]) -> int:
        """One of the topic's `partitions` for a message; its key and value are as they will be written."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedPartitioner:
    name: str
    make: Callable[[], SinkPartitioner]
    modules: tuple[types.ModuleType, ...]


def load_partitioner(sink: KafkaSink) -> LoadedPartitioner | None:
    """The class that the table names, looked for in the script's folder too; None where it names none."""
    name = sink.partitioner.implementation
    if name is None:
        return None
    module, colon, class_name = name.partition(":")
    if not colon:
        raise ScriptError(_invalid(sink, "it is not a Python class", "Name a class as 'module:Class'."))
    try:
        imported = import_named(module, class_name, [Path(sink.table.span.source.name).parent])
    except NotImportableError as error:
        hint = "The module must lie beside the script, in the current folder, or be installed."
        raise ScriptError(_invalid(sink, error.why, hint, error.detail)) from error
    found = imported.found
    if not isinstance(found, type):
        raise ScriptError(_invalid(sink, f'"{class_name}" is not a class', "Name a class as 'module:Class'."))
    if not callable(getattr(found, "partition", None)):
        hint = "Give it partition(self, key, value, topic, partitions), which returns one of the partitions."
        raise ScriptError(_invalid(sink, "it has no method partition", hint))
    return LoadedPartitioner(name, found, imported.modules)


def partitioner_problems(sink: KafkaSink) -> tuple[Diagnostic, ...]:
    """Why the class of a table cannot be used; asked when a job is about to start."""
    try:
        load_partitioner(sink)
    except ScriptError as error:
        return error.diagnostics
    return ()


def _invalid(sink: KafkaSink, why: str, hint: str, detail: str | None = None) -> Diagnostic:
    return Diagnostic(
        Code.INVALID_OPTION_VALUE,
        f"partitioner '{sink.partitioner.implementation}' cannot be used: {why}",
        open_reader(sink.table).value_place(PARTITIONER.key),
        detail,
        hint,
    )
