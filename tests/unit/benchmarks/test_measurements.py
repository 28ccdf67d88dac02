"""Processes are told apart by their command lines, and delays follow from what a reader saw."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest

from benchmarks.comparison.latency import Arrivals
from benchmarks.comparison.workloads import BY_NAME
from benchmarks.harness.processes import BROKER, HARNESS, JVM, PYTHON, WORKERS, measure_usage, role_of


@pytest.mark.parametrize(
    ("arguments", "role"),
    [
        (["/usr/bin/java", "-Xmx512m", "kafka.Kafka", "server.properties"], BROKER),
        (["/usr/bin/python", "-I", "/x/broker_guard.py", "/usr/bin/java"], BROKER),
        (["/usr/bin/java", "org.apache.spark.deploy.SparkSubmit"], JVM),
        (["/usr/bin/python", "-m", "millstream.spark.worker_daemon", "pyspark.worker"], WORKERS),
        (["/usr/bin/python", "-m", "pyspark.daemon"], WORKERS),
        (["/usr/bin/python", "pathway_jobs.py"], PYTHON),
        ([""], PYTHON),
    ],
)
def test_role_of_a_process(arguments: list[str], role: str) -> None:
    assert role_of("\0".join(arguments).encode()) == role


def test_usage_of_this_process() -> None:
    usage = measure_usage(os.getpid())
    assert usage.memory[HARNESS] > 1 << 20
    assert usage.machine >= usage.core_seconds[HARNESS] > 0


def test_row_that_is_filtered_out_has_no_delay() -> None:
    workload = BY_NAME["filter_project"]
    rows = pl.DataFrame({"page_id": [2, 3, 4], "user_id": [1, 1, 1], "user_region": ["a", "b", "c"]})
    assert workload.arrival
    arrivals = Arrivals(workload, workload.arrival, rows)
    for number in range(3):
        arrivals.note_sent(number, 10.0 + number)
    assert arrivals.count_missing() == 2
    for page, at in ((4, 12.5), (2, 11.0), (2, 30.0)):
        arrivals.note_value(at, json.dumps({"page_id": page}).encode())
    assert arrivals.count_missing() == 0
    assert arrivals.delays(since=0).tolist() == [1.0, 0.5]
    assert arrivals.delays(since=11).tolist() == [0.5]


def test_count_covers_all_earlier_rows_of_its_group() -> None:
    workload = BY_NAME["sum_9"]
    rows = pl.DataFrame({"user_region": ["a", "b", "a", "a"]})
    assert workload.arrival
    arrivals = Arrivals(workload, workload.arrival, rows)
    for number in range(4):
        arrivals.note_sent(number, float(number))
    arrivals.note_value(5.0, b'{"user_region":"a","pv":2}')
    arrivals.note_value(5.5, b'{"user_region":"a","pv":2,"diff":-1}')
    arrivals.note_value(6.0, b'{"user_region":"a","pv":3}')
    assert arrivals.count_missing() == 1
    arrivals.note_value(7.0, b'{"user_region":"b","pv":1}')
    assert arrivals.delays(since=0).tolist() == [5.0, 6.0, 3.0, 3.0]
