"""The end of a scan is determined when its job first starts, and kept as long as the scan is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.plan.program import compile_script
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.preflight import check_kafka
from millstream.runtime.kafka.scan_ends import keep_ends
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.begun_batches import begin_a_batch, end_a_batch
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE t (a BIGINT) WITH ('connector' = 'kafka', 'topic' = '{topic}', {end}
  'properties.bootstrap.servers' = '{brokers}', 'format' = 'json');
CREATE TABLE b (a BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO b SELECT a FROM t;
"""


@pytest.mark.parametrize(("end", "expected"), [("'scan.bounded.mode' = 'latest-offset',", 0), ("", None)])
def test_job_that_has_no_end_any_more_reads_on(broker: str, tmp_path: Path, end: str, expected: int | None) -> None:
    topic = fresh_name("t")
    ScriptKafka(broker).create_topic(topic, 1)
    begin_a_batch(tmp_path, offsets=f'{{"{topic}":{{"0":0}}}}')
    end_a_batch(tmp_path)
    keep_ends(tmp_path, [{(topic, 0): 0}])
    [plan] = compile_script(SourceText("s", SCRIPT.format(topic=topic, brokers=broker, end=end)), {}, {}).jobs
    [found] = check_kafka(plan, KafkaClients(), print, resumes=tmp_path).values()
    assert (found.ends or {}).get((topic, 0)) == expected
