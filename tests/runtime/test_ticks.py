"""A job that gets no rows ticks, if its state expires."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.test_statement_sets import DIGITS, SMALL, TABLES, read_messages
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress


def test_a_ttl_is_added_and_removed_between_starts(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    for topic in (parameters["numbers"], parameters["digits"]):
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    first, second = numbers(range(200)), numbers(range(0, 200, 2))
    produce(broker, parameters["numbers"], first)
    with Session(spark, checkpoint=tmp_path) as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        job.await_caught_up(PATIENCE)
        assert job.progress is not None
        assert job.progress.state_bytes > 0
    assert read_table(broker, parameters["digits"]) == truth(first)

    is_swept = threading.Event()

    def look(progress: JobProgress) -> None:
        if progress.state_bytes == 0:
            is_swept.set()

    with Session(spark, checkpoint=tmp_path, on_progress=look, settings={"table.exec.state.ttl": "1 s"}) as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        assert is_swept.wait(PATIENCE)
        assert job.progress is not None
        assert (job.progress.total_rows_in, job.progress.total_rows_out) == (0, 0)

    produce(broker, parameters["numbers"], second)
    with Session(spark, checkpoint=tmp_path) as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        job.await_caught_up(PATIENCE)
        assert job.progress is not None
        assert job.progress.batch > 1
    assert read_table(broker, parameters["digits"]) == truth(first) | truth(second)


def test_in_a_set_that_reads_a_table_once_ticks_reach_the_kernels_only(
    broker: str, spark: SparkSession, tmp_path: Path
) -> None:
    parameters = {"brokers": broker} | {name: fresh_name(name) for name in ("numbers", "digits", "large", "small")}
    for name in ("numbers", "digits", "large", "small"):
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters[name], name)
    rows = numbers(range(200))
    produce(broker, parameters["numbers"], rows)
    is_swept = threading.Event()

    def look(progress: JobProgress) -> None:
        if progress.total_rows_in and not progress.state_bytes:
            is_swept.set()

    script = f"{TABLES} EXECUTE STATEMENT SET BEGIN {DIGITS} {SMALL} END;"
    with Session(spark, checkpoint=tmp_path, on_progress=look, settings={"table.exec.state.ttl": "1 s"}) as session:
        [job] = session.execute_sql(script, parameters=parameters)
        assert is_swept.wait(PATIENCE)
        assert job.progress is not None
        assert job.progress.total_rows_in == len(rows)
    assert read_table(broker, parameters["digits"]) == truth(rows)
    assert read_messages(broker, parameters["small"]) == [str(number) for number in range(10)]
