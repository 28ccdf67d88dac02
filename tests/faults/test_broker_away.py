"""The broker becomes unavailable and comes back while a job runs."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from millstream.errors import SetupError
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker import EmbeddedBroker
from tests.conftest import skip_without_java
from tests.faults.processes import objects, run_in_background, until, until_read
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import produce, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMPATIENT = """'properties.default.api.timeout.ms' = '2000', 'properties.request.timeout.ms' = '1000',
  'properties.bootstrap.servers'"""
"""Makes Spark's clients give up quickly, so that the job has to be restarted."""


@pytest.fixture
def first_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(data=tmp_path / "broker", partitions=2)
    try:
        broker.start()
    except SetupError as error:
        skip_without_java(error)
    with broker:
        yield broker


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.slow
def test_job_waits_for_a_broker_and_goes_on(first_broker: EmbeddedBroker, tmp_path: Path) -> None:
    """Restarts after its clients have given up; stopped while the broker is unavailable again, it ends at once."""
    address = first_broker.bootstrap
    parameters = {"brokers": address, "numbers": "numbers", "digits": "digits"}
    KafkaAdmin({"bootstrap.servers": address}).ensure_topic("numbers", "numbers")
    script = tmp_path / "digits.sql"
    script.write_text(SCRIPT.replace("'properties.bootstrap.servers'", IMPATIENT))
    first, second = numbers(range(500)), numbers(range(400, 1000))
    produce(address, "numbers", first)
    with (tmp_path / "notices").open("w+") as notices, run_in_background(script, parameters, notices) as process:
        until_read(process, len(first), notices)
        first_broker.stop()
        waiting = until(process, lambda event: event.get("event") == "waiting", notices)
        assert address in waiting["why"]
        until(process, lambda event: event.get("attempt", 0) >= 1, notices)
        again = EmbeddedBroker(port=first_broker.address[1], data=tmp_path / "broker", partitions=2)
        with again:
            produce(address, "numbers", second)
            until(process, lambda event: event.get("event") == "going-on", notices)
            while read_table(address, "digits") != truth(first + second):
                next(objects(process))
        until(process, lambda event: event.get("event") == "waiting", notices)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
