"""`$ action key=value …`: the steps of a script test that are not SQL."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.catalog.catalog import Catalog
from millstream.errors import ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.testing.script_steps import (
    AwaitCaughtUp,
    AwaitFailure,
    Consume,
    CreateTopic,
    Order,
    Produce,
    Restart,
    Shown,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.testing.script_lines import ScriptLines
    from millstream.testing.script_steps import Columns, Step

BROKERS: Final = "brokers"
"""The parameter with the bootstrap servers, so no topic can have this name."""
_Choice = TypeVar("_Choice", bound=StrEnum)
_TOPIC: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_TIMEOUT_SECONDS: Final = 300


def parse_action(lines: ScriptLines) -> Step:
    line = lines.number
    try:
        words = shlex.split(_one_line(lines)[1:])
    except ValueError as error:
        raise lines.error(line, f"the step cannot be read: {str(error).lower()}") from None
    name = " ".join(word for word in words if "=" not in word)
    if name not in _ACTIONS:
        raise lines.error(line, f'there is no step "{name}"; steps: {", ".join(_ACTIONS)}')
    arguments = _Arguments(lines, line, dict(word.split("=", 1) for word in words if "=" in word))
    step = _ACTIONS[name](arguments)
    arguments.refuse_leftovers()
    return step


def _one_line(lines: ScriptLines) -> str:
    """The step's line, joined with the lines that follow a backslash at its end."""
    written = lines.take()
    while written.endswith("\\") and not lines.at_end():
        written = written[:-1] + lines.take()
    return written


class _Arguments:
    """The `key=value` pairs of a step; those that nobody requests are errors."""

    def __init__(self, lines: ScriptLines, line: int, values: dict[str, str]) -> None:
        self.lines = lines
        self.line = line
        self._values = values

    def text(self, key: str) -> str | None:
        return self._values.pop(key, None)

    def require(self, key: str) -> str:
        value = self.text(key)
        if not value:
            raise self.error(f"the step needs {key}=…")
        return value

    def number(self, key: str) -> int | None:
        value = self.text(key)
        if value is None:
            return None
        if not value.isdecimal():
            raise self.error(f'{key}="{value}" is not a number')
        return int(value)

    def one_of(self, kind: type[_Choice], key: str, default: _Choice) -> _Choice:
        value = self.text(key) or str(default)
        if value not in set(kind):
            raise self.error(f'{key}="{value}" is none of {", ".join(kind)}')
        return kind(value)

    def columns(self, key: str) -> Columns | None:
        value = self.text(key)
        if value is None:
            return None
        catalog = Catalog()
        try:
            compile_script(SourceText(key, f"CREATE TABLE message ({value});"), {}, {}, catalog)
        except ScriptError as error:
            raise self.error(f"{key} cannot be read: {error.diagnostics[0].primary}") from None
        [table] = catalog.tables
        return tuple((column.name, column.type) for column in table.physical_columns)

    def refuse_leftovers(self) -> None:
        if self._values:
            raise self.error(f"the step does not take {', '.join(self._values)}")

    def error(self, primary: str) -> ScriptError:
        return self.lines.error(self.line, primary)


def _topic(arguments: _Arguments) -> Step:
    name = arguments.require("name")
    if not _TOPIC.fullmatch(name) or name == BROKERS:
        raise arguments.error(f'a topic cannot be called "{name}" here')
    partitions = arguments.number("partitions")
    if partitions == 0:
        raise arguments.error("a topic has at least one partition")
    return CreateTopic(arguments.line, name, partitions or 1)


def _produce(arguments: _Arguments) -> Step:
    topic, partition = arguments.require("topic"), arguments.number("partition")
    messages, _ = arguments.lines.read_messages()
    if not messages:
        raise arguments.error("the step needs at least one message on the lines after it")
    return Produce(arguments.line, topic, partition, messages)


def _consume(arguments: _Arguments) -> Step:
    topic = arguments.require("topic")
    view = arguments.one_of(View, "as", View.MESSAGES)
    order = arguments.one_of(Order, "order", Order.KEY)
    key, value = arguments.columns("key.columns"), arguments.columns("value.columns")
    if (arguments.text("format") == "avro") != (key is not None or value is not None):
        raise arguments.error("format=avro and key.columns=… or value.columns=… belong together")
    expected, block = arguments.lines.read_messages()
    return Consume(arguments.line, topic, view, order, key, value, expected, block)


def _show(arguments: _Arguments) -> Step:
    order = arguments.one_of(Order, "order", Order.OFFSET)
    return Shown(arguments.line, order, *arguments.lines.read_lines())


def _await_caught_up(arguments: _Arguments) -> Step:
    return AwaitCaughtUp(arguments.line, arguments.number("timeout") or _TIMEOUT_SECONDS)


def _await_failure(arguments: _Arguments) -> Step:
    job, timeout = arguments.text("job"), arguments.number("timeout") or _TIMEOUT_SECONDS
    codes, contains, block = arguments.lines.read_error(arguments.line)
    return AwaitFailure(arguments.line, job, codes, contains, timeout, block)


_ACTIONS: Final[dict[str, Callable[[_Arguments], Step]]] = {
    "topic": _topic,
    "produce": _produce,
    "await caught-up": _await_caught_up,
    "await failure": _await_failure,
    "consume": _consume,
    "shown": _show,
    "restart": lambda arguments: Restart(arguments.line),
}
