"""What is settled before the jobs of a script start: all of it can be done, and the user knows what has no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.catalog.settings import setting_notice
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.not_yet import unbuilt
from millstream.errors import ScriptError
from millstream.plan.nodes import sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.tables import Sink, Source
    from millstream.plan.program import Program


def refuse_unbuilt(program: Program) -> None:
    """Raises all that the tables say and no job can do yet."""
    problems = [problem for table in _tables(program) for problem in unbuilt(table)]
    if problems:
        raise ScriptError(dict.fromkeys(problems))


def notices(program: Program) -> Iterator[str]:
    """What the settings and tables say in vain, or leave to us; each once."""
    told = [setting_notice(key, value) for key, value in program.settings]
    for table in _tables(program):
        match table:
            case KafkaSource() | KafkaSink():
                told += [notice.text for notice in table.notices]
    yield from dict.fromkeys(text for text in told if text is not None)


def _tables(program: Program) -> Iterator[Source | Sink]:
    for insert in program.inserts:
        yield from sources(insert.plan)
        yield insert.plan.sink
