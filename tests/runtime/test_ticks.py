"""A job that gets no rows ticks, if its state expires."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
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
