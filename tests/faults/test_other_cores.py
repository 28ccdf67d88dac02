"""A batch that began on some number of cores and is repeated on another: exactly once, for every kind of input.

One statement set reads in every possible way, so that one batch covers all of them; it is ended in the middle.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.failpoints import VARIABLE
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.faults.processes import run_to_end
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable
    from pathlib import Path

_SECONDS: Final = 300
PARTITIONS: Final = 3
MESSAGES: Final = 600
GROUPS: Final = 17
GENERATED: Final = 40_000
"""Generated in chunks of 16,384, which are spread over tasks."""
FILES: Final = 12
SETTINGS: Final = {
    "spark.sql.shuffle.partitions": ("3", "5"),
    "spark.sql.files.maxPartitionBytes": ("128m", "2k"),
    "spark.sql.files.openCostInBytes": ("4m", "1"),
    "spark.sql.files.minPartitionNum": ("2", "7"),
    "spark.sql.adaptive.enabled": ("false", "true"),
}
"""Of the first run, and of the one that repeats its batch."""
TABLES: Final = ("passed", "spread", "counted", "distinct", "written", "generated", "lines", "rows", "grouped")

_KAFKA: Final = "'properties.bootstrap.servers' = '${brokers}'"
_SOURCES: Final = f"""
CREATE TABLE messages (id INT, customer INT) WITH (
  'connector' = 'kafka', 'topic' = '${{source}}', {_KAFKA}, 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE generator (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '{GENERATED}',
  'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{GENERATED - 1}');
CREATE TABLE csv_files (id INT, customer INT) WITH (
  'connector' = 'filesystem', 'path' = '${{folder}}/csv', 'format' = 'csv');
CREATE TABLE parquet_files (id INT, customer INT) WITH (
  'connector' = 'filesystem', 'path' = '${{folder}}/parquet', 'format' = 'parquet');
"""
_SET: Final = """
BEGIN STATEMENT SET;
INSERT INTO passed SELECT id FROM messages;
INSERT INTO spread SELECT id FROM messages;
INSERT INTO counted SELECT customer, COUNT(*) FROM messages GROUP BY customer;
INSERT INTO `distinct` SELECT customer, COUNT(DISTINCT id) FROM messages GROUP BY customer;
INSERT INTO written VALUES (1), (2), (3);
INSERT INTO generated SELECT id FROM generator;
INSERT INTO `lines` SELECT id FROM csv_files;
INSERT INTO `rows` SELECT id FROM parquet_files WHERE id >= 0;
INSERT INTO grouped SELECT customer, COUNT(DISTINCT id) FROM csv_files GROUP BY customer;
END;
"""


def _sink(name: str) -> str:
    once = (
        f"{_KAFKA}, 'topic' = '${{{name}}}', 'sink.delivery-guarantee' = 'exactly-once', "
        f"'sink.transactional-id-prefix' = '${{{name}}}'"
    )
    if name in ("counted", "distinct", "grouped"):
        return (
            f"CREATE TABLE `{name}` (customer INT, n BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH ("
            f"'connector' = 'upsert-kafka', {once}, 'key.format' = 'json', 'value.format' = 'json');"
        )
    parallelism = ", 'sink.parallelism' = '4'" if name == "spread" else ""
    return f"CREATE TABLE `{name}` (id INT) WITH ('connector' = 'kafka', {once}, 'format' = 'json'{parallelism});"


def _rows_of_files() -> list[list[tuple[int, int]]]:
    """Files of different sizes."""
    numbers = iter(range(10**6))
    return [[(next(numbers), row % GROUPS) for row in range(100 + 70 * file)] for file in range(FILES)]


def _fill(folder: Path) -> None:
    for kind in ("csv", "parquet"):
        (folder / kind).mkdir()
    for number, rows in enumerate(_rows_of_files()):
        lines = "".join(f"{id_},{customer}\n" for id_, customer in rows)
        (folder / "csv" / f"{number}.csv").write_text(lines)
        ids, customers = zip(*rows, strict=True)
        table = pa.table({"id": pa.array(ids, pa.int32()), "customer": pa.array(customers, pa.int32())})
        pq.write_table(table, folder / "parquet" / f"{number}.parquet", row_group_size=50)


def _counts(customers: Iterable[int]) -> list[dict[str, Any]]:
    return [{"customer": customer, "n": n} for customer, n in Counter(customers).items()]


def _expected() -> dict[str, Counter[str]]:
    in_files = [row for rows in _rows_of_files() for row in rows]
    ids_in_files = [{"id": id_} for id_, _ in in_files]
    sent = [{"id": number} for number in range(MESSAGES)]
    counted = _counts(number % GROUPS for number in range(MESSAGES))
    rows = {
        "passed": sent,
        "spread": sent,
        "counted": counted,
        "distinct": counted,
        "written": [{"id": number} for number in (1, 2, 3)],
        "generated": [{"id": number} for number in range(GENERATED)],
        "lines": ids_in_files,
        "rows": ids_in_files,
        "grouped": _counts(customer for _, customer in in_files),
    }
    return {table: Counter(json.dumps(row) for row in of_table) for table, of_table in rows.items()}


def _run(
    folder: Path, parameters: dict[str, str], master: str, settings: dict[str, str], armed: str | None = None
) -> subprocess.CompletedProcess[str]:
    script = folder / "job.sql"
    sets = "".join(f"SET '{key}' = '{value}';\n" for key, value in settings.items())
    script.write_text(sets + _SOURCES + "\n".join(map(_sink, TABLES)) + _SET)
    environment = {} if armed is None else {VARIABLE: armed}
    return run_to_end(script, parameters, "--master", master, environment=environment, seconds=_SECONDS)


@pytest.mark.parametrize(
    ("first", "commits", "second"),
    [
        pytest.param("local[1]", 9, "local[3]", marks=pytest.mark.slow),
        pytest.param("local[4]", 5, "local[1]", marks=pytest.mark.faults),
        pytest.param("local[2]", 1, "local[4]", marks=pytest.mark.faults),
    ],
)
def test_batch_is_finished_on_another_number_of_cores(
    broker: str, tmp_path: Path, first: str, commits: int, second: str
) -> None:
    kafka = ScriptKafka(broker)
    parameters = {"brokers": broker, "folder": str(tmp_path), "source": fresh_name("source")}
    kafka.create_topic(parameters["source"], PARTITIONS)
    for partition in range(PARTITIONS):
        rows = ({"id": number, "customer": number % GROUPS} for number in range(partition, MESSAGES, PARTITIONS))
        kafka.produce(parameters["source"], (Message(None, json.dumps(row).encode()) for row in rows), partition)
    for table in TABLES:
        parameters[table] = fresh_name(table)
        kafka.create_topic(parameters[table], 1)
    _fill(tmp_path)
    then, now = ({key: values[run] for key, values in SETTINGS.items()} for run in (0, 1))
    ended = _run(tmp_path, parameters, first, then, armed=f"after-commit:{commits}")
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    finished = _run(tmp_path, parameters, second, now)
    assert finished.returncode == 0, finished.stderr
    wrong = {}
    for table, expected in _expected().items():
        read = (received.message.value for received in kafka.read(parameters[table]))
        found = Counter(json.dumps(json.loads(value)) for value in read if value is not None)
        if found != expected:
            wrong[table] = f"{(expected - found).total()} missing, {(found - expected).total()} too many"
    assert wrong == {}
