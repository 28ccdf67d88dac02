"""Decodes messages one by one exactly, one by one as in a job, and all at once, compares, and writes the rows."""

from __future__ import annotations

import resource
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.formats.message_rows import KEY, VALUE
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from tests.fuzz.binary_messages import SCHEMAS
from tests.fuzz.written_again import Sinks
from tests.unit.formats.test_protobuf import shop

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from millstream.formats.message_rows import MessageRows
    from tests.fuzz.tables import Message, Table

SECONDS: Final = 1.0
"""CPU time for one message."""
_MORE_MEMORY: Final = 4 << 30
_COMPARED_ROWS: Final = 2000


@dataclass(frozen=True, slots=True)
class Tally:
    messages: int = 0
    rows: int = 0
    skipped: int = 0
    unreadable: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.messages + other.messages, self.rows + other.rows, self.skipped + other.skipped,
            self.unreadable + other.unreadable,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Outcome:
    rows: int
    contents: list[str] | None
    """None if there are too many rows to compare."""
    skipped: int
    unreadable: tuple[str, ...]


def serve(requests: Connection, folder: str) -> None:
    """Answers with a Tally or a text of what is wrong. Before each message its number is sent, before all None."""
    with EmbeddedSchemaRegistry() as registry:
        registry.schemas.extend(SCHEMAS)
        protobuf = {
            "message-class-name": "com.example.ShopOrders$Order",
            "descriptor-file": shop(Path(folder, "d.pb"), "proto2"),
        }
        places = {"protobuf": protobuf, "avro-confluent": {"url": registry.url}}
        places["debezium-avro-confluent"] = places["avro-confluent"]
        _limit_memory()
        while (request := requests.recv()) is not None:
            table, messages = request
            requests.send(_examine(table, messages, places.get(table.format, {}), requests))


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MORE_MEMORY, used + _MORE_MEMORY))


def _examine(table: Table, messages: list[Message], places: dict[str, str], progress: Connection) -> Tally | str:
    try:
        exact, usual = (table.reader(places, exact_only=exact_only) for exact_only in (True, False))
        sinks = Sinks(", ".join(filter(None, (table.key, table.columns))))
        outcomes = []
        for i, message in enumerate(messages):
            progress.send(i)
            outcomes.append(_outcome(exact, [message], SECONDS))
            # One by one too: in a batch with corrupt messages, none would reach the batch reader.
            if (found := _outcome(usual, [message], SECONDS, sinks)) != outcomes[-1]:
                return _difference(outcomes[-1], found)
        progress.send(None)
        together = _outcome(usual, messages, SECONDS * len(messages), sinks)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    alone = _Outcome(
        sum(outcome.rows for outcome in outcomes),
        _join([outcome.contents for outcome in outcomes]),
        sum(outcome.skipped for outcome in outcomes),
        tuple(text for outcome in outcomes for text in outcome.unreadable),
    )
    if (alone.contents is None) != (together.contents is None) or alone == together:
        return Tally(len(messages), alone.rows, alone.skipped, len(alone.unreadable))
    return _difference(alone, together)


def _difference(exact: _Outcome, batch: _Outcome) -> str:
    return f"the readers differ: one by one {_show_difference(exact, batch)}, at once {_show_difference(batch, exact)}"


def _join(contents: list[list[str] | None]) -> list[str] | None:
    if any(rows is None for rows in contents):
        return None
    joined = [row for rows in contents for row in rows or ()]
    return joined if len(joined) <= _COMPARED_ROWS else None


def _show_difference(one: _Outcome, other: _Outcome) -> str:
    for mine, theirs in zip(one.contents or (), other.contents or (), strict=False):
        if mine != theirs:
            return mine[:300]
    for mine, theirs in zip(one.unreadable, other.unreadable, strict=False):
        if mine != theirs:
            return mine[:300]
    return f"{one.rows} rows, {one.skipped} skipped, {len(one.unreadable)} unreadable"


def _outcome(reader: MessageRows, messages: list[Message], seconds: float, sinks: Sinks | None = None) -> _Outcome:
    """If the CPU time exceeds the limit, SIGPROF ends the process, wherever it is. Rows are also written to `sinks`."""
    batch = pa.RecordBatch.from_pydict(
        {
            KEY: pa.array([key for key, _ in messages], pa.binary()),
            VALUE: pa.array([value for _, value in messages], pa.binary()),
            "topic": pa.array(["t"] * len(messages)),
        }
    )
    signal.setitimer(signal.ITIMER_PROF, seconds)
    read = reader.read(batch)
    rows, contents = 0, []
    for piece in read.pieces:
        piece.validate(full=True)
        rows += piece.num_rows
        if rows <= _COMPARED_ROWS:
            contents += [repr(row) for row in _plain(piece).to_pylist()]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if sinks is not None:
        for piece in read.pieces:
            sinks.write(piece)
    signal.setitimer(signal.ITIMER_PROF, 0)
    reasons = tuple(found.text for found in read.unreadable)
    return _Outcome(rows, contents if rows <= _COMPARED_ROWS else None, read.skipped, reasons)


def _plain(table: pa.Table) -> pa.Table:
    """Dates and times as numbers, which are unbounded in Python."""
    for i, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            number: Any = pa.int32() if pa.types.is_date(field.type) else pa.int64()
            table = table.set_column(i, field.name, table[field.name].cast(number))
    return table
