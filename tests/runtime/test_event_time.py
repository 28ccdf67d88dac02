"""Event time on its way from tables to kernels: whatever is between them, every bucket is told the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.kernels.operator import MAX_WATERMARK
from millstream.runtime.event_times import EventTime, HeldBack
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.state_report import report_state
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.clocks import BUCKETS, Clock, Moment, moments, translate_clocks, with_clocks
from tests.runtime.topics import as_json, fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.plan.operators.node import Node
    from millstream.runtime.progress import JobProgress

    Make = Callable[..., Sequence[Node]]

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json'"
LTZ = "TO_TIMESTAMP_LTZ(ms, 3)"
BEHIND = "ts - INTERVAL '0.005' SECOND"
IN_SPARK = "REGEXP(CAST(id AS STRING), '^[0-9]*$')"
TABLES = "".join(
    f"""CREATE TABLE {name} (id BIGINT, ms BIGINT, ts AS {{column}}, tags ARRAY<STRING>,
    sent TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR {{rowtime}} AS {{watermark}})
    WITH ('topic' = '${{{{{name}}}}}', 'scan.startup.mode' = 'earliest-offset', {KAFKA});"""
    for name in ("orders", "rates")
)
KEPT = """CREATE TABLE kept (id BIGINT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), PRIMARY KEY (id) NOT ENFORCED,
    WATERMARK FOR ts AS ts - INTERVAL '0.005' SECOND) WITH ('connector' = 'upsert-kafka', 'topic' = '${kept}',
    'properties.bootstrap.servers' = '${brokers}', 'key.format' = 'json', 'value.format' = 'json');"""
OUT = "".join(
    f"""CREATE TABLE {name} (clock BIGINT, seen BIGINT, now BIGINT, `watermark` BIGINT, `before` BIGINT)
    WITH ('topic' = '${{{{told}}}}', {KAFKA}{{delivery}});
    INSERT INTO {name} SELECT id, id, id, id, id FROM orders;"""
    for name in ("told", "also_told")
)
EXACTLY_ONCE = ", 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${told}'"


class Clocks:
    """Plans over tables with a watermark, five milliseconds behind the highest row of each partition."""

    def __init__(self, broker: str, spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names = {name: fresh_name(name) for name in ("orders", "rates", "kept", "told")}
        self.progress: JobProgress | None = None
        """After the last run."""
        self._broker = broker
        self._spark = spark
        self.folder = folder
        self._monkeypatch = monkeypatch
        translate_clocks(monkeypatch)
        for topic in self.names.values():
            KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)

    def produce(self, table: str, partition: int, *times: int) -> None:
        rows = ({"id": time, "ms": time, "tags": ["a", "b"]} for time in times)
        messages = [Message(as_json({"id": row["id"]}), as_json(row)) for row in rows]
        ScriptKafka(self._broker).produce(self.names[table], messages, partition=partition)

    def run(
        self,
        make: Make,
        *queries: str,
        delivery: str = "",
        column: str = LTZ,
        rowtime: str = "ts",
        watermark: str = BEHIND,
        idle_timeout: str = "0",
        drain: bool = False,
    ) -> None:
        """Runs a job until all that is there has been read; `make` gives the nodes that are written."""
        tables = TABLES.format(column=column, rowtime=rowtime, watermark=watermark)
        text = f"{tables}{KEPT}{''.join(f'{query};' for query in queries)}{OUT.format(delivery=delivery)}"
        parameters = {"brokers": self._broker, **self.names}
        settings: dict[str, Any] = {
            "millstream.state.buckets": str(BUCKETS),
            "table.exec.source.idle-timeout": idle_timeout,
        }
        with Session(self._spark, checkpoint=self.folder, settings=settings) as session:
            with self._monkeypatch.context() as without_rules:
                without_rules.setattr("millstream.plan.compiler.RULES", ())
                program = session.compile(text, parameters=parameters)
            roots = [job.roots[0] for job in program.jobs]
            made = make(*(root.inputs[0] for root in roots[: len(queries)]))
            written = [root.with_inputs(node) for root, node in zip(roots[len(queries) :], made, strict=False)]
            program = with_clocks(program, *written)
            [self.plan] = program.jobs
            [job] = session.start(program, drain=drain)
            if drain:
                assert job.await_end(PATIENCE)
            else:
                job.await_caught_up(PATIENCE)
            if drain:
                job.await_last_report(PATIENCE)
            self.progress = job.progress

    def told(self) -> list[Moment]:
        return moments(self._broker, self.names["told"])

    @property
    def last(self) -> Moment:
        return self.told()[-1]


@pytest.fixture
def clocks(broker: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(broker, spark, tmp_path, monkeypatch)


def one_clock(*inputs: Node) -> Sequence[Node]:
    return [Clock(inputs, inputs[0].span)]


def two_clocks(first: Node, second: Node) -> Sequence[Node]:
    return [Clock((first,), first.span, 1), Clock((second,), second.span, 2)]


@pytest.mark.parametrize("delivery", ["", EXACTLY_ONCE], ids=["at least once", "exactly once"])
@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("SELECT id, ts FROM orders WHERE id > 25", [1, 2]),
        (f"SELECT id, ts FROM orders WHERE {IN_SPARK} AND id > 25", [1, 2]),
        ("SELECT id, x FROM orders CROSS JOIN UNNEST(tags) AS u (x) WHERE id > 25", [2, 4]),
        (f"SELECT id, x FROM orders CROSS JOIN UNNEST(tags) AS u (x) WHERE {IN_SPARK} AND x > 'a'", [2, 3]),
        ("SELECT id, ts FROM orders UNION ALL SELECT id, ts FROM orders WHERE id < 0", [2, 3]),
        (f"SELECT id, ts FROM orders UNION ALL SELECT id, ts FROM orders WHERE {IN_SPARK}", [4, 6]),
    ],
    ids=["in Python", "in Spark", "unnested in Python", "unnested in Spark", "united in Python", "united in Spark"],
)
def test_every_bucket_is_told(clocks: Clocks, query: str, seen: list[int], delivery: str) -> None:
    """Two partitions, of which one is empty at first; no filter hides the row that moves time on."""
    clocks.produce("orders", 0, 60, 20)
    clocks.run(one_clock, query, delivery=delivery)
    assert clocks.last == Moment(0, None, None, seen[0])
    clocks.produce("orders", 1, 40)
    clocks.run(one_clock, query, delivery=delivery)
    assert clocks.last == Moment(0, None, 35, seen[1])


@pytest.mark.parametrize(
    ("column", "watermark"),
    [
        ("CAST(TO_TIMESTAMP_LTZ(ms, 3) AS TIMESTAMP(3))", BEHIND),
        ("TO_TIMESTAMP_LTZ(CAST(REGEXP_REPLACE(CAST(ms AS STRING), 'x', '') AS BIGINT), 3)", BEHIND),
        (LTZ, "TO_TIMESTAMP_LTZ(CAST(REGEXP_REPLACE(CAST(ms - 5 AS STRING), 'x', '') AS BIGINT), 3)"),
        (LTZ, "CASE WHEN id = 60 THEN NULL ELSE TO_TIMESTAMP_LTZ(ms - 5, 3) END"),
    ],
    ids=["a local time", "a column by Spark", "a watermark by Spark", "a watermark that may be NULL"],
)
def test_any_expression_is_a_watermark(clocks: Clocks, column: str, watermark: str) -> None:
    clocks.produce("orders", 0, 10, 45, 50, 60)
    clocks.produce("orders", 1, 70)
    clocks.run(one_clock, "SELECT id FROM orders WHERE id < 0", column=column, watermark=watermark)
    assert clocks.last == Moment(0, None, 45 if "NULL" in watermark else 55, 0)


def test_the_time_of_a_message_is_one_of_a_row(clocks: Clocks) -> None:
    """It is not older than the test, and to the millisecond, as Kafka has it."""
    begun_ms = int(time.time() * 1000)
    for partition in range(2):
        clocks.produce("orders", partition, 10)
    clocks.run(one_clock, "SELECT id FROM orders", rowtime="sent", watermark="sent")
    assert clocks.last.watermark is not None
    assert begun_ms <= clocks.last.watermark <= time.time() * 1000


def test_the_least_of_two_tables(clocks: Clocks) -> None:
    """A table without rows holds it back, and so does one that has come less far; in unions as in joins."""
    queries = ("SELECT id FROM orders", "SELECT id FROM rates", "SELECT id FROM orders UNION ALL SELECT id FROM rates")

    def make(orders: Node, rates: Node, both: Node) -> Sequence[Node]:
        return [Clock((orders, rates), orders.span, 1), Clock((both,), both.span, 2)]

    def told() -> list[Moment]:
        clocks.run(make, *queries)
        return sorted(clocks.told()[-2:])

    clocks.produce("orders", 0, 30)
    clocks.produce("orders", 1, 40)
    assert told() == [Moment(1, None, None, 2), Moment(2, None, None, 2)]
    clocks.produce("rates", 0, 20)
    clocks.produce("rates", 1, 10)
    assert told() == [Moment(1, None, 5, 4), Moment(2, None, 5, 4)]
    clocks.produce("rates", 1, 50)
    assert told() == [Moment(1, 5, 15, 5), Moment(2, 5, 15, 5)]
    assert clocks.progress is not None
    assert (clocks.progress.late_rows, clocks.progress.late) == (2, (("clock-1", 1), ("clock-2", 1)))
    held = HeldBack("rates", "0", 15)
    times = tuple(EventTime(f"clock-{number}", 15, held, 0) for number in (1, 2))
    assert clocks.progress.event_times == times
    [stopped] = report_state(clocks.folder, [clocks.plan]).jobs
    assert tuple(operator.event_time for operator in stopped.operators) == times


def test_a_partition_that_is_empty_holds_it_back_until_it_is_idle(clocks: Clocks) -> None:
    """Between two batches, half of the timeout passes at the most; each run has at least one."""
    query = "SELECT id FROM orders"
    clocks.produce("orders", 0, 10, 50)
    clocks.run(one_clock, query)
    assert clocks.last == Moment(0, None, None, 2)
    for time_of_row in (60, 70, 80):
        clocks.produce("orders", 0, time_of_row)
        clocks.run(one_clock, query, idle_timeout="2 ms")
    assert clocks.last.watermark == 75
    clocks.produce("orders", 1, 20)
    clocks.produce("orders", 0, 90)
    clocks.run(one_clock, query, idle_timeout="2 ms")
    assert clocks.last[1:3] == (75, 75)


def test_a_drained_job_ends_event_time(clocks: Clocks) -> None:
    """Of which every operator is told once, in a batch without rows."""

    def make(rows: Node) -> Sequence[Node]:
        return [Clock((Clock((rows,), rows.span, 1, delay_ms=7),), rows.span, 2)]

    query = "SELECT id FROM orders"
    clocks.produce("orders", 0, 60)
    clocks.run(make, query)
    clocks.produce("orders", 1, 40)
    clocks.run(make, query, drain=True)
    assert clocks.told() == [
        Moment(2, None, None, BUCKETS),
        Moment(2, None, 28, 2 * BUCKETS),
        Moment(2, 28, MAX_WATERMARK, 3 * BUCKETS),
    ]
    clocks.produce("orders", 1, 50)
    clocks.run(make, query, drain=True)
    assert len(clocks.told()) == 3
    with pytest.raises(JobError) as caught:
        clocks.run(make, query)
    assert caught.value.diagnostics[0].code is Code.CHECKPOINT_MISMATCH


def test_a_bounded_job_ends_event_time_with_its_last_rows(clocks: Clocks) -> None:
    clocks.produce("orders", 0, 60)
    query = "SELECT id FROM orders /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */"
    for _ in range(2):
        clocks.run(one_clock, query, drain=True)
        assert clocks.told()[0] == Moment(0, None, MAX_WATERMARK, 1)


def test_rows_that_are_brought_into_order_first(clocks: Clocks) -> None:
    """The kernel of a table of upserts does not wait for event time, but passes it on."""
    clocks.produce("kept", 0, 60, 20)
    clocks.produce("kept", 1, 40)
    clocks.run(one_clock, "SELECT id FROM kept")
    assert clocks.last == Moment(0, None, 35, 3)


def test_a_table_that_has_ended_does_not_hold_it_back(clocks: Clocks) -> None:
    """In a job that goes on with another one."""
    bounded = "SELECT id FROM rates /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */"

    def make(orders: Node, rates: Node) -> Sequence[Node]:
        return [Clock((orders, rates), orders.span)]

    clocks.produce("rates", 0, 10)
    clocks.produce("orders", 0, 30)
    clocks.produce("orders", 1, 40)
    clocks.run(make, "SELECT id FROM orders", bounded)
    assert clocks.last == Moment(0, None, 25, 3)


@pytest.mark.parametrize("condition", ["id > 25", f"{IN_SPARK} AND id > 25"], ids=["in Python", "in Spark"])
def test_a_set_that_reads_a_table_once(clocks: Clocks, condition: str) -> None:
    queries = ("SELECT id FROM orders", f"SELECT id FROM orders WHERE {condition}")
    clocks.produce("orders", 0, 60, 20)
    clocks.produce("orders", 1, 40)
    clocks.run(two_clocks, *queries)
    assert clocks.told() == [Moment(1, None, 35, 3), Moment(2, None, 35, 2)]
    clocks.produce("orders", 1, 70)
    clocks.run(two_clocks, *queries)
    assert clocks.told()[2:] == [Moment(1, 35, 55, 4), Moment(2, 35, 55, 3)]


@pytest.mark.parametrize("is_in_spark", [False, True], ids=["in Python", "in Spark"])
def test_an_operator_above_another_is_told_its_watermark(clocks: Clocks, *, is_in_spark: bool) -> None:
    """Of what the lower one gives, rows may come that are 7 ms older than its own watermark."""

    def make(rows: Node, filtered: Node) -> Sequence[Node]:
        lower = Clock((rows,), rows.span, 1, delay_ms=7)
        [project] = filtered.inputs
        between = filtered.with_inputs(project.with_inputs(lower)) if is_in_spark else lower
        return [Clock((between,), rows.span, 2)]

    clocks.produce("orders", 0, 60)
    clocks.produce("orders", 1, 40)
    clocks.run(
        make,
        "SELECT id FROM orders",
        "SELECT clock FROM (SELECT id AS clock FROM orders) WHERE REGEXP(CAST(clock AS STRING), '1')",
    )
    assert clocks.told() == [Moment(2, None, 28, BUCKETS)]
