"""Tables that are looked up, as workers and the driver keep them while a job runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from millstream import Session
from millstream.plan.operators.lookup import Lookup
from millstream.plan.operators.node import walk
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.spark import lookup_content
from millstream.spark.lookup import content_of
from millstream.spark.lookup_content import TopicContent
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name, recreate_topic

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from millstream.runtime.job import Job

SCRIPT = """
CREATE TABLE orders (id INT, city INT, seen AS PROCTIME()) WITH (
  'connector' = 'kafka', 'topic' = '{orders}', 'properties.bootstrap.servers' = '{brokers}', 'format' = 'json');
CREATE TABLE cities (id INT, name STRING{key}) WITH ({cities});
CREATE TABLE named (id INT, name STRING) WITH (
  'connector' = 'kafka', 'topic' = '{named}', 'properties.bootstrap.servers' = '{brokers}', 'format' = 'json');
INSERT INTO named SELECT o.id, c.name FROM orders AS o
JOIN cities FOR SYSTEM_TIME AS OF o.seen AS c ON o.city = c.id;
"""


def topic_content(spark: SparkSession, brokers: str, topic: str, folder: Path) -> TopicContent:
    cities = f"""'connector' = 'upsert-kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{brokers}',
        'key.format' = 'json', 'value.format' = 'json'"""
    key = ", PRIMARY KEY (id) NOT ENFORCED"
    script = SCRIPT.format(orders="o", named="n", brokers=brokers, cities=cities, key=key)
    [job] = compile_script(SourceText("s", script), {}, {}).jobs
    [node] = [node for node in walk(job.roots[0]) if isinstance(node, Lookup)]
    content = content_of(node.with_id("lookup-1"), spark, folder).content
    assert isinstance(content, TopicContent)
    return content


def test_a_topic_is_followed_in_portions(
    broker: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows replace each other within a portion and across its ends, also in a topic that was created again."""
    monkeypatch.setattr(lookup_content, "_ROWS_TOGETHER", 7)
    kafka, topic = ScriptKafka(broker), fresh_name("cities")
    kafka.create_topic(topic, 2)
    content = topic_content(spark, broker, topic, tmp_path)

    def put(upserts: list[tuple[int, str | None]]) -> None:
        kafka.produce(
            topic,
            [
                Message(
                    f'{{"id":{id_}}}'.encode(), None if name is None else f'{{"id":{id_},"name":"{name}"}}'.encode()
                )
                for id_, name in upserts
            ],
            partition=None,
        )

    def rows() -> dict[int, str]:
        ids, names = (column.to_pylist() for column in content.rows_now().rows.columns)
        return dict(zip(ids, names, strict=True))

    def await_rows(wanted: dict[int, str]) -> None:
        """New partitions are looked for now and then."""
        while rows() != wanted:
            pass

    assert rows() == {}
    put([(number % 10, f"city {number}") for number in range(64)] + [(3, None), (4, None)])
    expected = {number % 10: f"city {number}" for number in range(64)}
    del expected[3], expected[4]
    await_rows(expected)
    put([(3, "again"), (5, None), (3, "anew")])
    del expected[5]
    await_rows(expected | {3: "anew"})
    recreate_topic(broker, topic)
    put([(1, "only")])
    await_rows({1: "only"})
    content.file.unlink()
    lookup_content.release_ended()
    assert content.file not in lookup_content._KEPT


def test_files_are_read_again_while_a_job_runs(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    kafka, orders, named = ScriptKafka(broker), fresh_name("orders"), fresh_name("named")
    for topic in (orders, named):
        kafka.create_topic(topic, 1)
    folder = tmp_path / "cities"
    folder.mkdir()
    (folder / "cities.csv").write_text("1,oslo\n2,bern\n")
    cities = f"""'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv', 'lookup.cache' = 'FULL',
        'lookup.full-cache.periodic-reload.interval' = '50 ms'"""
    script = SCRIPT.format(orders=orders, named=named, brokers=broker, cities=cities, key="")

    def name_now(of_job: Job) -> str:
        kafka.produce(orders, [Message(None, b'{"id":1,"city":1}')], partition=None)
        of_job.await_caught_up(PATIENCE)
        name: str = json.loads(kafka.read(named)[-1].message.value or b"")["name"]
        return name

    with Session(spark, checkpoint=tmp_path / "checkpoint") as session:
        [job] = session.execute_sql(script)
        assert name_now(job) == "oslo"
        (tmp_path / "later.csv").write_text("1,kiel\n2,bern\n")
        (tmp_path / "later.csv").rename(folder / "cities.csv")
        while name_now(job) != "kiel":
            pass
        [kept] = (tmp_path / "checkpoint").rglob("lookup-1-*.rows")
        job.stop()
        while kept.exists():
            pass
