"""A partitioner that the user wrote in Python: `'sink.partitioner' = 'module:Class'`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from millstream.catalog.module_source import NotReadableError, find_definition, read_module
from millstream.catalog.user_modules import NotImportableError, import_object
from millstream.connectors.kafka.sink_options import PARTITIONER
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Sequence

    from millstream.connectors.kafka.tables import KafkaSink


class SinkPartitioner(Protocol):
    """The interface of the class. It is created without arguments, in every task that writes a batch.

    It may also have a method `open(task, tasks)`, called before the first row: `task` is the task's number from 0, and
    `tasks` the number of tasks if 'sink.parallelism' is set, otherwise None.
    """

    def partition(self, key: bytes | None, value: bytes | None, topic: str, partitions: Sequence[int]) -> int:
        """Returns one of the topic's `partitions` for a message, with key and value as they will be written."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedPartitioner:
    name: str
    make: Callable[[], SinkPartitioner]
    modules: tuple[types.ModuleType, ...]


def load_partitioner(sink: KafkaSink) -> LoadedPartitioner | None:
    """The class that the table names, also searched for in the script's folder; None if it names none."""
    name = sink.partitioner.implementation
    if name is None:
        return None
    module, class_name = _parts(sink, name)
    try:
        imported = import_object(module, class_name, [_folder(sink)])
    except NotImportableError as error:
        raise _import_error(sink, error) from error
    found = imported.found
    if not isinstance(found, type):
        raise _not_a_class(sink, class_name)
    if not callable(getattr(found, "partition", None)):
        raise _no_method(sink)
    return LoadedPartitioner(name, found, imported.modules)


def partitioner_problems(sink: KafkaSink) -> tuple[Diagnostic, ...]:
    """Why the class of a table cannot be used. Called when a job is about to start, since it imports the module."""
    try:
        load_partitioner(sink)
    except ScriptError as error:
        return error.diagnostics
    return ()


def check_partitioner(sink: KafkaSink) -> None:
    """Checks the class as far as the source of its module allows, without running any of its code.

    Raises `NotReadableError` if only running it would tell.
    """
    name = sink.partitioner.implementation
    if name is None:
        return
    module_name, class_name = _parts(sink, name)
    try:
        _, found = find_definition(read_module(module_name, [_folder(sink), Path.cwd()]), class_name)
    except NotImportableError as error:
        raise _import_error(sink, error) from error
    if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.Import):
        raise _not_a_class(sink, class_name)
    if not isinstance(found, ast.ClassDef):
        raise NotReadableError(f'"{class_name}" is not a plain class')
    if any(isinstance(node, ast.FunctionDef) and node.name == "partition" for node in found.body):
        return
    if found.bases or found.keywords or found.decorator_list or any(map(_may_bind_more, found.body)):
        raise NotReadableError(f'"{class_name}" gets its methods from elsewhere')
    raise _no_method(sink)


def _may_bind_more(node: ast.stmt) -> bool:
    return not isinstance(node, ast.FunctionDef | ast.Pass | ast.Expr)


def _parts(sink: KafkaSink, name: str) -> tuple[str, str]:
    if not sink.partitioner.is_python:
        raise ScriptError(_invalid(sink, "it is not a Python class", "Name a class as 'module:Class'."))
    module, _, class_name = name.partition(":")
    return module, class_name


def _folder(sink: KafkaSink) -> Path:
    return Path(sink.table.span.source.name).parent


def _import_error(sink: KafkaSink, error: NotImportableError) -> ScriptError:
    hint = "The module must lie beside the script, in the current folder, or be installed."
    return ScriptError(_invalid(sink, error.why, hint, error.detail))


def _not_a_class(sink: KafkaSink, class_name: str) -> ScriptError:
    return ScriptError(_invalid(sink, f'"{class_name}" is not a class', "Name a class as 'module:Class'."))


def _no_method(sink: KafkaSink) -> ScriptError:
    hint = "Give it partition(self, key, value, topic, partitions), which returns one of the partitions."
    return ScriptError(_invalid(sink, "it has no method partition", hint))


def _invalid(sink: KafkaSink, why: str, hint: str, detail: str | None = None) -> Diagnostic:
    return Diagnostic(
        Code.INVALID_OPTION_VALUE,
        f"partitioner '{sink.partitioner.implementation}' cannot be used: {why}",
        sink.places.value(PARTITIONER.key),
        detail,
        hint,
    )
