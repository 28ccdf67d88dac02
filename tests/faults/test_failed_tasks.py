"""Tasks that fail in the middle of their rows: they commit nothing, and the job continues once it can.

Arrow batches are small, so that a task has many of them and most of its messages have been sent when it fails.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.spark.session import STREAMING
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import as_json, fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS: Final = 4000
"""Per partition."""
BAD: Final = 3333
"""The row of partition 0 that fails, long after the first Arrow batch."""
_AT_ONCE: Final = 50_000
SOURCE: Final = """
CREATE TABLE source (id BIGINT, part BIGINT) WITH ('connector' = 'kafka', 'topic' = '${source}',
  'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
"""
ONCE: Final = """'topic' = '${sink}', 'properties.bootstrap.servers' = '${brokers}',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${sink}'"""
SINK: Final = f"""
CREATE TABLE sink (id BIGINT NOT NULL) WITH ('connector' = 'kafka', 'format' = 'json', {ONCE});
"""
COUNTS: Final = f"""
CREATE TABLE sink (id BIGINT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json', {ONCE});
"""
PASS: Final = "INSERT INTO sink SELECT id FROM source;"
RAISING: Final = f"""
import time
from pathlib import Path

def check(id: int) -> int:
    if id == {BAD}:
        raise ValueError("not this one")
    return id

def check_late(id: int) -> int:
    while id == {BAD} and not Path(__file__).with_name("gate").exists():
        time.sleep(0.02)
    return check(id)

class Choice:
    def partition(self, key, value, topic, partitions):
        if value == b'{{"id":{BAD}}}':
            raise OSError("no partition for this one")
        return partitions[0]
"""
FUNCTION: Final = "CREATE FUNCTION check_id AS 'raising:check' LANGUAGE PYTHON;\n"


@dataclass(frozen=True)
class Case:
    """A script that fails on row BAD; `remedy` is a change to it with which every other row succeeds."""

    script: str
    code: Code
    remedy: tuple[str, str]
    bad_value: bytes = as_json({"id": BAD, "part": 0})
    lacks: frozenset[int] = frozenset({BAD})


UNREADABLE: Final = b'{"id": nothing}'
SKIP: Final = ("'format' = 'json');", "'format' = 'json', 'json.ignore-parse-errors' = 'true');")
CASES: Final = {
    "unreadable, then skipped": Case(SOURCE + SINK + PASS, Code.UNDECODABLE_MESSAGE, SKIP, UNREADABLE),
    "unreadable, then set aside": Case(
        SOURCE + SINK + PASS,
        Code.UNDECODABLE_MESSAGE,
        (SKIP[0], "'format' = 'json', 'scan.dead-letter.topic' = '${source}-bad');"),
        UNREADABLE,
    ),
    "expression": Case(
        SOURCE + SINK + f"INSERT INTO sink SELECT id + 0 / (id - {BAD}) FROM source;",
        Code.EXPRESSION_FAILED,
        ("FROM source", f"FROM source WHERE id <> {BAD}"),
    ),
    "NULL": Case(
        SOURCE + SINK + f"INSERT INTO sink SELECT NULLIF(id, {BAD}) FROM source;",
        Code.NULL_IN_KEY,
        ("CREATE TABLE source", "SET 'table.exec.sink.not-null-enforcer' = 'DROP';\nCREATE TABLE source"),
    ),
    "function": Case(
        FUNCTION + SOURCE + SINK + "INSERT INTO sink SELECT check_id(id) FROM source;",
        Code.JOB_FAILED,
        ("FROM source", f"FROM source WHERE id <> {BAD}"),
    ),
    "partitioner": Case(
        SOURCE + SINK.replace("'format'", "'sink.partitioner' = 'raising:Choice', 'format'") + PASS,
        Code.UNWRITABLE_ROW,
        ("'sink.partitioner' = 'raising:Choice', ", ""),
        lacks=frozenset(),
    ),
}


IN_EVERY_RUN: Final = (("unreadable, then skipped", 4), ("function", 1))


@dataclass(frozen=True)
class Bench:
    """Two topics, and the folder of a script that reads one and writes the other."""

    brokers: str
    spark: SparkSession
    folder: Path
    source: str
    sink: str

    def fill(self, partitions: int, bad_value: bytes, rows: int = ROWS, bad: int = BAD) -> int:
        """Returns the number of rows, which are numbered consecutively, partition by partition."""
        kafka = ScriptKafka(self.brokers)
        for topic in (self.source, self.sink):
            kafka.create_topic(topic, partitions)
        for part in range(partitions):
            numbers = range(part * rows, (part + 1) * rows)
            values = (bad_value if number == bad else as_json({"id": number, "part": part}) for number in numbers)
            while some := [Message(None, value) for value in islice(values, _AT_ONCE)]:
                kafka.produce(self.source, some, part)
        return partitions * rows

    def run(self, script: str) -> None:
        parameters = {"brokers": self.brokers, "source": self.source, "sink": self.sink}
        with Session(self.spark, checkpoint=self.folder / "c") as session:
            name = str(self.folder / "job.sql")
            [job] = session.execute_sql(script, name=name, parameters=parameters, drain=True)
            assert job.await_end(PATIENCE)

    def values(self, topic: str) -> list[bytes | None]:
        return [received.message.value for received in ScriptKafka(self.brokers).read(topic)]

    def ids(self) -> list[int]:
        return sorted(json.loads(value or "")["id"] for value in self.values(self.sink))


@pytest.fixture
def bench(broker: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setitem(STREAMING, "spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    sys.modules.pop("raising", None)
    (tmp_path / "raising.py").write_text(RAISING)
    return Bench(broker, spark, tmp_path, fresh_name("source"), fresh_name("sink"))


@pytest.mark.parametrize(
    ("case", "partitions"),
    [
        pytest.param(case, partitions, marks=() if (case, partitions) in IN_EVERY_RUN else pytest.mark.slow)
        for case in CASES
        for partitions in (1, 4)
    ],
)
def test_failed_task_commits_nothing_and_the_job_goes_on(bench: Bench, case: str, partitions: int) -> None:
    chosen = CASES[case]
    rows = bench.fill(partitions, chosen.bad_value)
    with pytest.raises(JobError) as failed:
        bench.run(chosen.script)
    assert failed.value.code is chosen.code
    assert not set(range(ROWS)) & set(bench.ids())
    remedied = chosen.script.replace(*chosen.remedy, 1)
    assert remedied != chosen.script
    bench.run(remedied)
    assert bench.ids() == sorted(set(range(rows)) - chosen.lacks)


@pytest.mark.faults
@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize("case", ["unreadable, then skipped", "unreadable, then set aside"])
def test_one_unreadable_of_300_000_messages(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, case: str, partitions: int
) -> None:
    """In one batch, with Arrow batches as large as in production."""
    monkeypatch.setitem(STREAMING, "spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    per_partition = 300_000 // partitions
    bad = per_partition - 500
    rows = bench.fill(partitions, UNREADABLE, per_partition, bad)
    script = "SET 'millstream.batch.max-rows' = '1000000';\n" + CASES[case].script
    with pytest.raises(JobError) as failed:
        bench.run(script)
    assert failed.value.code is Code.UNDECODABLE_MESSAGE
    committed = bench.ids()
    assert all(number >= per_partition for number in committed), "of the partition with the message, nothing"
    assert len(committed) % per_partition == 0, "of another one, all or nothing"
    bench.run(script.replace(*CASES[case].remedy, 1))
    assert bench.ids() == [number for number in range(rows) if number != bad]
    if case.endswith("aside"):
        assert bench.values(f"{bench.source}-bad") == [UNREADABLE]


def test_unreadable_message_below_an_aggregate(bench: Bench) -> None:
    """No writer has begun when a task before the exchange fails, so the counted rows may change too."""
    rows = bench.fill(2, UNREADABLE)
    script = SOURCE + COUNTS + "INSERT INTO sink SELECT part, COUNT(DISTINCT id) FROM source GROUP BY part;"
    with pytest.raises(JobError) as failed:
        bench.run(script)
    assert failed.value.code is Code.UNDECODABLE_MESSAGE
    assert bench.values(bench.sink) == []
    bench.run(script.replace(*SKIP, 1).replace("FROM source", "FROM source WHERE id >= 10"))
    found = {row["id"]: row["n"] for value in bench.values(bench.sink) if (row := json.loads(value or ""))}
    assert found == {0: ROWS - 1 - 10, 1: rows // 2}


def test_result_that_cannot_be_written_above_an_aggregate(bench: Bench) -> None:
    """One of two writers has committed: then only what is done with the results may change."""
    bench.fill(2, as_json({"id": BAD, "part": 0}))
    results = "INSERT INTO sink SELECT id, COUNT(DISTINCT part) + check_id(id) FROM source GROUP BY id;"
    script = FUNCTION.replace(":check", ":check_late") + SOURCE + COUNTS + results
    with ThreadPoolExecutor(1) as thread:
        failing = thread.submit(bench.run, script)
        while not bench.ids() and not failing.done():
            pass
        (bench.folder / "gate").touch()
        with pytest.raises(JobError) as failed:
            failing.result()
    assert failed.value.code is Code.JOB_FAILED
    assert 0 < len(bench.ids()) < 2 * ROWS
    with pytest.raises(JobError) as refused:
        bench.run(script.replace("FROM source", f"FROM source WHERE id <> {BAD}"))
    assert refused.value.code is Code.CHECKPOINT_MISMATCH
    bench.run(script.replace(" + check_id(id)", ""))
    assert bench.ids() == list(range(2 * ROWS))
