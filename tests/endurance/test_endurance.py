"""A short version of `make endurance`, and a test that it notices growth."""

from __future__ import annotations

import sys

import pytest

from tests.endurance.kinds import KINDS
from tests.endurance.limits import trends
from tests.endurance.run import Endurance

_AT_ONCE = ("open files", "connections to Kafka", "processes")
"""Measures that are constant after a few batches; threads and memory take longer."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_job_with_state_holds_no_more_from_batch_to_batch(broker: str) -> None:
    found = Endurance(broker, (10, 40)).run(KINDS["kernel-aggregate-exactly-once"])
    seen = [trend for trend in found if trend.measure.endswith(_AT_ONCE)]
    assert {trend.measure.partition(":")[0] for trend in seen} >= {"driver", "JVM", "worker", "delivery"}
    assert [str(trend) for trend in seen if not trend.is_flat] == []


def test_what_grows_is_named() -> None:
    before = {"JVM: open files": 250, "JVM: memory, MB": 1000, "driver: threads": 10}
    after = {"JVM: open files": 267, "JVM: memory, MB": 1200, "driver: threads": 8, "delivery: processes": 3}
    grown = [str(trend) for trend in trends([before, after]) if not trend.is_flat]
    assert grown == ["JVM: open files 250 -> 267", "delivery: processes 0 -> 3"]
