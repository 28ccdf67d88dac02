"""A row of a small table changes that very many rows are joined to: how much memory Spark's workers take for it."""

from __future__ import annotations

import signal
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.endurance.measures import workers_of
from tests.faults.orders_job import drain
from tests.faults.processes import batches, run_in_background
from tests.runtime.topics import as_json, fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCRIPT: Final = """
SET 'parallelism.default' = '2';
SET 'millstream.batch.max-rows' = '200000';
CREATE TABLE leaders (k INT, name STRING, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${leaders}', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE followers (k INT, id BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${followers}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE followed (id BIGINT, name STRING) WITH ('connector' = 'blackhole');
CREATE VIEW joined AS SELECT id, name FROM followers f JOIN leaders l ON f.k = l.k;
INSERT INTO followed """
JOIN: Final = "SELECT id, name FROM joined"
FEW_GROUPS: Final = "SELECT COUNT(*), name FROM joined GROUP BY name"
MANY_GROUPS: Final = "SELECT id, MAX(name) FROM joined GROUP BY id"
TOP_N: Final = (
    "SELECT id, name FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY id) AS place FROM joined) "
    "WHERE place <= 3"
)
_PRODUCED: Final = 50_000
"""Messages that wait for the broker together."""
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Storm:
    megabytes: int
    """The most that a worker held for itself in the batch in which the row changed."""
    rows_out: int
    state_rows: int


class _Watch:
    """Looks at the memory of a job's workers while it is open."""

    def __init__(self, driver: int) -> None:
        self._driver = driver
        self._most = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def megabytes(self) -> int:
        return self._most // 1024

    def _look(self) -> None:
        workers = workers_of(self._driver)
        while not self._is_over.wait(_LOOK_SECONDS):
            self._most = max([self._most, *map(_held, workers)])


def _held(process: int) -> int:
    """Without mapped files, which the system takes back when it needs the memory."""
    with suppress(OSError):  # it has just ended
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)
    return 0


def storm(brokers: str, query: str, rows: int) -> Storm:
    kafka = ScriptKafka(brokers)
    topics = {name: fresh_name(name) for name in ("leaders", "followers")}
    for topic in topics.values():
        kafka.create_topic(topic, 1)
    kafka.produce(topics["leaders"], _leader("before"), 0)
    for first in range(0, rows, _PRODUCED):
        ids = range(first, min(first + _PRODUCED, rows))
        kafka.produce(topics["followers"], (Message(None, as_json({"k": 7, "id": id_})) for id_ in ids), 0)
    with (
        tempfile.TemporaryDirectory(prefix="storm-", ignore_cleanup_errors=True) as name,
        (Path(name) / "notices").open("w+") as notices,
    ):
        script = Path(name) / "job.sql"
        script.write_text(f"{_SCRIPT}{query};")
        with run_in_background(script, {"brokers": brokers, **topics}, notices) as job:
            progress = batches(job)
            try:
                next(found for found in progress if found["total_rows_in"] > rows)
                with _Watch(job.pid) as watch:
                    kafka.produce(topics["leaders"], _leader("after"), 0)
                    batch = next(progress)
            finally:
                job.send_signal(signal.SIGTERM)
                drain(job)
    sizes = batch["state"].values()
    return Storm(watch.megabytes, batch["rows_out"], sum(size["rows"] for size in sizes))


def _leader(name: str) -> Iterable[Message]:
    return [Message(as_json({"k": 7}), as_json({"k": 7, "name": name}))]
