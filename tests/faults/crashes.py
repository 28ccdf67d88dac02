"""Jobs that write exactly once, ended at a failpoint and started again: the table of docs/reliability.md."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.failpoints import VARIABLE
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Messages = Counter[tuple[bytes | None, bytes | None]]

ROWS: Final = 1500
PARTITIONS: Final = 3
"""Fewer than five: there Spark numbers its tasks otherwise when it does a batch again."""
_SECONDS: Final = 200
_KAFKA: Final = "'connector' = 'kafka', 'properties.bootstrap.servers' = '${brokers}', "
_ONCE: Final = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${sink}'"


@dataclass(frozen=True)
class Shape:
    """A kind of query, and what it reads."""

    name: str
    script: str
    value: Callable[[int], dict[str, object]]


def _order(number: int) -> dict[str, object]:
    return {"id": number, "customer": number % 17, "amount": number % 100}


def _change(number: int) -> dict[str, object]:
    """Every row is inserted, and half of them are changed or deleted later."""
    of = number // 2 * 2
    old, new = {"id": of, "customer": of % 17, "amount": 5}, {"id": of, "customer": of % 17, "amount": 7}
    if number % 2 == 0:
        return {"before": None, "after": old, "op": "c"}
    return {"before": old, "after": new, "op": "u"} if number % 4 == 1 else {"before": old, "after": None, "op": "d"}


SHAPES: Final = (
    Shape(
        "append: pass-through",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_KAFKA} 'topic' = '${{source}}', "
        "'format' = 'json');\n"
        f"CREATE TABLE sink (id INT, amount INT) WITH ({_KAFKA} 'topic' = '${{sink}}', 'format' = 'json', {_ONCE});\n"
        "INSERT INTO sink SELECT id, amount * 2 FROM source WHERE customer <> 3;",
        _order,
    ),
    Shape(
        "upsert: COUNT, COUNT(DISTINCT)",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_KAFKA} 'topic' = '${{source}}', "
        "'format' = 'json');\n"
        "CREATE TABLE sink (customer INT, orders BIGINT, amounts BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH ("
        f"{_KAFKA.replace('kafka', 'upsert-kafka', 1)} 'topic' = '${{sink}}', 'key.format' = 'json', "
        f"'value.format' = 'json', {_ONCE});\n"
        "INSERT INTO sink SELECT customer, COUNT(*), COUNT(DISTINCT amount) FROM source GROUP BY customer;",
        _order,
    ),
    Shape(
        "changes to changes: SUM",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_KAFKA} 'topic' = '${{source}}', "
        "'format' = 'debezium-json');\n"
        f"CREATE TABLE sink (customer INT, total BIGINT) WITH ({_KAFKA} 'topic' = '${{sink}}', "
        f"'format' = 'debezium-json', {_ONCE});\n"
        "INSERT INTO sink SELECT customer, SUM(amount) FROM source GROUP BY customer;",
        _change,
    ),
    Shape(
        "set: two INSERTs from one table into one",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_KAFKA} 'topic' = '${{source}}', "
        "'format' = 'json');\n"
        f"CREATE TABLE sink (id INT, amount INT) WITH ({_KAFKA} 'topic' = '${{sink}}', 'format' = 'json', {_ONCE});\n"
        "BEGIN STATEMENT SET; INSERT INTO sink SELECT id, amount FROM source; "
        "INSERT INTO sink SELECT -id, amount FROM source WHERE customer <> 3; END;",
        _order,
    ),
)
_WITHOUT_KERNEL: Final = ("append", "set")
_ON_A_KERNEL: Final = ("before-state", "after-state")


@dataclass(frozen=True)
class Crash:
    shape: Shape
    failpoint: str
    time: int
    """The how-manieth time the place is come by, in one process."""

    @property
    def name(self) -> str:
        return f"{self.shape.name.split(':')[0].replace(' ', '-')}-{self.failpoint}-{self.time}"

    @property
    def is_reachable(self) -> bool:
        return self.failpoint not in _ON_A_KERNEL or not self.shape.name.startswith(_WITHOUT_KERNEL)


@dataclass(frozen=True)
class Found:
    """What is in the topic after the restart, beside what an undisturbed run writes."""

    written: int
    missing: int
    twice: int


class Bench:
    """Fills topics and runs jobs, each in a process of its own."""

    def __init__(self, brokers: str, folder: Path) -> None:
        self._brokers = brokers
        self._folder = folder
        self._kafka = ScriptKafka(brokers)
        self._undisturbed: dict[str, tuple[str, Messages]] = {}

    def survive(self, crash: Crash) -> Found:
        source, expected = self._reference(crash.shape)
        sink = self._topic("sink")
        folder = self._folder / crash.name
        armed = {VARIABLE: f"{crash.failpoint}:{crash.time}"}
        first = self._run(crash.shape, folder, source, sink, armed)
        assert first.returncode == -signal.SIGKILL, f"{crash.name} was not come by: {first.stderr}"
        second = self._run(crash.shape, folder, source, sink, {})
        assert second.returncode == 0, second.stderr
        found = self._messages(sink)
        return Found(found.total(), (expected - found).total(), (found - expected).total())

    def _reference(self, shape: Shape) -> tuple[str, Messages]:
        """The same input in the same batches, with nothing in between."""
        if shape.name not in self._undisturbed:
            source, sink = self._topic("source"), self._topic("sink")
            for partition in range(PARTITIONS):
                rows = (json.dumps(shape.value(number)).encode() for number in _of(partition))
                self._kafka.produce(source, (Message(None, row) for row in rows), partition)
            run = self._run(shape, self._folder / f"undisturbed-{len(self._undisturbed)}", source, sink, {})
            assert run.returncode == 0, run.stderr
            self._undisturbed[shape.name] = source, self._messages(sink)
        return self._undisturbed[shape.name]

    def _topic(self, stem: str) -> str:
        name = fresh_name(stem)
        self._kafka.create_topic(name, PARTITIONS)
        return name

    def _messages(self, topic: str) -> Messages:
        return Counter((received.message.key, received.message.value) for received in self._kafka.read(topic))

    def _run(
        self, shape: Shape, folder: Path, source: str, sink: str, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        folder.mkdir(exist_ok=True)
        script = folder / "job.sql"
        settings = f"SET 'millstream.batch.max-rows' = '{ROWS // 5}';\nSET 'parallelism.default' = '2';\n"
        script.write_text(settings + shape.script)
        parameters = {"brokers": self._brokers, "source": source, "sink": sink}
        given = [part for name, value in parameters.items() for part in ("--param", f"{name}={value}")]
        return subprocess.run(
            [sys.executable, "-m", "millstream.cli.main", "run", "job.sql", "--drain", "--output", "json", *given],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


def _of(partition: int) -> list[int]:
    """Both changes of a row are in one partition, in their order."""
    return [number for number in range(ROWS) if number // 2 % PARTITIONS == partition]
