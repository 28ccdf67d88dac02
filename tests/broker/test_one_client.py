"""A job uses one client per cluster, however many tables it has and whatever it requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient

from millstream.plan.program import compile_script
from millstream.runtime.kafka import clients
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.cluster_watch import KafkaWatch
from millstream.runtime.kafka.exactly_once import Start, open_transactions
from millstream.runtime.kafka.job_topics import JobTopics
from millstream.runtime.kafka.preflight import check_kafka
from millstream.runtime.kafka.topic_ids import keep_ids, read_kept_ids
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

SCRIPT = """
CREATE TABLE numbers (a BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${numbers}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json',
  'properties.group.id' = '${numbers}', 'scan.startup.mode' = 'latest-offset', 'scan.dead-letter.topic' = '${dead}');
CREATE TABLE copies (a BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${copies}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json',
  'properties.acks' = 'all', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '${copies}');
INSERT INTO copies SELECT a FROM numbers;
"""


def test_one_client_asks_all_questions_of_a_job(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[AdminClient] = []

    def make(settings: Mapping[str, Any]) -> AdminClient:
        made.append(AdminClient(dict(settings)))
        return made[-1]

    names = {name: fresh_name(name) for name in ("numbers", "copies", "dead")}
    ScriptKafka(broker).create_topic(names["numbers"], 2)
    ScriptKafka(broker).create_topic(names["copies"], 1)
    [plan] = compile_script(SourceText("s", SCRIPT), {"brokers": broker, **names}, {}).jobs
    monkeypatch.setattr(clients, "AdminClient", make)
    of_job = KafkaClients()
    positions = check_kafka(plan, of_job, print, resumes=None)
    keep_ids(tmp_path, plan, of_job)
    opened = open_transactions(plan, tmp_path, of_job, print, Start("us", 1))
    ends = JobTopics(plan, tmp_path, positions, of_job).ends_now()
    away = KafkaWatch(plan, of_job).ask()
    assert (list(read_kept_ids(tmp_path)), list(opened), len(ends), away) == ([names["numbers"]], ["copies"], 2, None)
    assert len(made) == 1
