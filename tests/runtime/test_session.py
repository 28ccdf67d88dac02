"""The Python session, on a real broker and a real Spark."""

from __future__ import annotations

import gc
import time
import weakref
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import BrokerError, Code, JobError, ScriptError, SetupError
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def parameters(broker: str) -> dict[str, str]:
    names = {"numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    for topic in names.values():
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    return {"brokers": broker, **names}


def test_job_catches_up_again_and_again(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    rows = numbers(range(2000))
    produce(broker, parameters["numbers"], rows)
    with Session(spark, checkpoint=tmp_path) as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        job.await_caught_up(PATIENCE)
        assert read_table(broker, parameters["digits"]) == truth(rows)
        more = numbers([1, 1, 2, 12345])
        produce(broker, parameters["numbers"], more)
        job.await_caught_up(PATIENCE)
        assert job.progress is not None
        assert job.progress.total_rows_in == 2004
        assert read_table(broker, parameters["digits"]) == truth(rows + more)
    assert job.progress.total_lag == 0
    assert job.progress.state_bytes > 0


def test_nothing_holds_a_job_that_is_over(spark: SparkSession, tmp_path: Path) -> None:
    """Its query would stay in the JVM, with its plans; the end of a query is reported with a delay."""
    script = f"""
        CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3');
        CREATE TABLE copies (n INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/out', 'format' = 'json');
        INSERT INTO copies SELECT n FROM numbers;
    """
    with Session(spark, checkpoint=tmp_path / "c") as session:
        held = weakref.ref(session.execute_sql(script)[0])
    del session
    deadline = time.monotonic() + PATIENCE
    while held() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.1)
    assert held() is None


def test_drained_job_ends_and_a_later_one_goes_on(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    first, second = numbers(range(100)), numbers(range(50, 150))
    notices: list[str] = []
    for rows in (first, second):
        produce(broker, parameters["numbers"], rows)
        with Session(spark, checkpoint=tmp_path, on_notice=notices.append) as session:
            [job] = session.execute_sql(SCRIPT, parameters=parameters, drain=True)
            assert job.await_end(PATIENCE)
    assert read_table(broker, parameters["digits"]) == truth(first + second)
    assert [notice for notice in notices if "continues where it stopped" in notice]


def test_resumed_job_without_new_data_is_caught_up(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    produce(broker, parameters["numbers"], numbers(range(10)))
    for _ in range(2):
        with Session(spark, checkpoint=tmp_path) as session:
            [job] = session.execute_sql(SCRIPT, parameters=parameters)
            job.await_caught_up(PATIENCE)


def test_changed_query_is_refused(broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path) -> None:
    produce(broker, parameters["numbers"], numbers(range(10)))
    with Session(spark, checkpoint=tmp_path) as session:
        session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(PATIENCE)
    changed = SCRIPT.replace("COUNT(DISTINCT n)", "SUM(n)")
    with Session(spark, checkpoint=tmp_path) as session, pytest.raises(JobError) as caught:
        session.execute_sql(changed, parameters=parameters)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    with Session(spark, checkpoint=tmp_path, fresh=True) as session:
        session.execute_sql(changed, parameters=parameters, drain=True)[0].await_end(PATIENCE)
    assert read_table(broker, parameters["digits"])['{"digit":3}']["different"] == 3


def test_missing_topic_is_created_and_said(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    names = {"numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    notices: list[str] = []
    with Session(spark, checkpoint=tmp_path, on_notice=notices.append) as session:
        [job] = session.execute_sql(SCRIPT, parameters={"brokers": broker, **names}, drain=True)
        assert job.await_end(PATIENCE)
    for topic in names.values():
        assert any(topic in notice and "created" in notice for notice in notices)


def test_missing_topic_is_an_error_where_creation_is_forbidden(broker: str, tmp_path: Path) -> None:
    script = SCRIPT.replace("'format' = 'json'", "'format' = 'json', 'properties.allow.auto.create.topics' = 'false'")
    names = {"numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    with Session(checkpoint=tmp_path) as session, pytest.raises(BrokerError) as caught:
        session.execute_sql(script, parameters={"brokers": broker, **names})
    assert caught.value.code is Code.TOPIC_MISSING
    assert names["numbers"] in str(caught.value)


def test_session_of_the_user_keeps_its_own_configuration(spark: SparkSession, tmp_path: Path) -> None:
    from millstream.spark.session import adopt_session

    spark.conf.set("spark.sql.session.timeZone", "America/Lima")
    try:
        sibling = adopt_session(spark, 2)
        assert sibling.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.sql.session.timeZone") == "America/Lima"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_session_of_the_user_without_the_jars(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from millstream.spark import session

    monkeypatch.setattr(
        session, "_NEEDED_CLASSES", {"org.example.NotThere": "not-there_2.13", **session._NEEDED_CLASSES}
    )
    with pytest.raises(SetupError) as caught:
        session.adopt_session(spark, None)
    assert caught.value.code is Code.SPARK_SESSION_INCOMPLETE
    assert "lacks not-there_2.13\n" in str(caught.value)


def test_undefined_setting() -> None:
    with pytest.raises(ScriptError) as caught:
        Session(paralellism_default=2)
    assert caught.value.code is Code.UNDEFINED_OPTION


def test_files_that_one_step_writes_are_read_by_the_next(spark: SparkSession, tmp_path: Path) -> None:
    shown: list[str] = []
    table = f"""
    CREATE TABLE kept (id INT, name STRING) WITH (
      'connector' = 'filesystem', 'path' = '{tmp_path / "kept"}', 'format' = 'json');
    """
    with Session(spark, checkpoint=tmp_path / "checkpoint", on_rows=shown.extend) as session:
        session.execute_sql(f"{table} INSERT INTO kept VALUES (1, 'a'), (2, 'b'); SELECT id, name FROM kept;")
        assert shown[-1] == "2 rows"
        session.execute_sql("INSERT INTO kept VALUES (3, 'c'); SELECT id, name FROM kept;")
        assert shown[-1] == "3 rows"
