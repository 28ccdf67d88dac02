"""Apache Flink and Millstream over the same topic of one broker: `python -m benchmarks.beside_flink [ROWS] [JOB…]`.

Both run the same script from a cold start until the output topic holds the truth, over ROWS page views and over a third
of them: the difference is steady state, because start-up cancels. It downloads 320 MB once, and needs 8 GB of memory.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.harness.engines import FLINK, FLINK_JAVA, FLINK_SETTINGS, MILLSTREAM, PARALLELISM, Engine
from benchmarks.harness.outcomes import AllRows, LastValues, Outcome
from benchmarks.harness.page_view_topic import PARTITIONS, TOPIC, PageViewTopic, Truth
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ROWS: Final = 9_000_000
_SMALL_PART: Final = 3
_PATIENCE_SECONDS: Final = 300
_COLUMNS: Final = "user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING"


@dataclass(frozen=True, slots=True)
class Job:
    columns: str
    sink: str
    query: str
    outcome: Callable[[str, str, Truth], Outcome]

    def script(self, brokers: str, output: str) -> str:
        kafka = f"'properties.bootstrap.servers' = '{brokers}'"
        return f"""
            CREATE TABLE pageviews ({_COLUMNS}) WITH ('connector' = 'kafka', 'topic' = '{TOPIC}', {kafka},
              'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
            CREATE TABLE results ({self.columns}) WITH ({self.sink}, 'topic' = '{output}', {kafka});
            INSERT INTO results {self.query};"""


_UPSERT: Final = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
JOBS: Final = {
    "pv_uv": Job(
        "user_region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED",
        _UPSERT,
        "SELECT user_region, COUNT(*), COUNT(DISTINCT user_id) FROM pageviews GROUP BY user_region",
        lambda brokers, topic, truth: LastValues(
            brokers, topic, {region: [count, truth.users[region]] for region, count in truth.views.items()}
        ),
    ),
    "count": Job(
        "user_region STRING, pv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED",
        _UPSERT,
        "SELECT user_region, COUNT(*) FROM pageviews GROUP BY user_region",
        lambda brokers, topic, truth: LastValues(
            brokers, topic, {region: [count] for region, count in truth.views.items()}
        ),
    ),
    "pass_through": Job(
        _COLUMNS,
        "'connector' = 'kafka', 'format' = 'json', 'sink.delivery-guarantee' = 'at-least-once'",
        "SELECT * FROM pageviews",
        AllRows,
    ),
}


def seconds(engine: Engine, name: str, brokers: str, truth: Truth, folder: Path) -> float:
    """From the start of the engine's process to the moment when the truth is in the output topic."""
    output = f"{name}-{engine.name}-{truth.rows}"
    outcome = JOBS[name].outcome(brokers, output, truth)
    begin = time.perf_counter()
    with engine.running(JOBS[name].script(brokers, output), folder / output) as run:
        while not outcome.is_reached():
            run.check()
            if time.perf_counter() - begin > _PATIENCE_SECONDS:
                break
        taken = time.perf_counter() - begin
    if wrong := outcome.difference():
        sys.exit(f"{engine.name} is wrong at {name} after {taken:.0f} s: {wrong}\n{run.last_lines()}")
    print(f"{name:<14}{truth.rows:>12,} rows  {engine.name:<12}{taken:>7.1f} s from a cold start", flush=True)
    return taken


def report(rows: int, small: int, taken: Mapping[tuple[int, str, str], float], names: list[str]) -> None:
    print(
        f"Millstream: {PARALLELISM} tasks, its defaults; Flink: {', '.join(FLINK_JAVA)}, "
        + ", ".join(f"{key} = {value}" for key, value in FLINK_SETTINGS.items())
    )
    print(f"steady state, {rows - small:,} page views of about 100 bytes, {PARTITIONS} partitions")
    for name in names:
        flink, ours = (
            (rows - small) / (taken[rows, name, engine.name] - taken[small, name, engine.name])
            for engine in (FLINK, MILLSTREAM)
        )
        print(f"{name:<14}Flink {flink:>10,.0f} rows/s   Millstream {ours:>10,.0f} rows/s   ratio {ours / flink:.2f}")


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    names = [argument for argument in sys.argv[1:] if not argument.isdigit()] or list(JOBS)
    rows = numbers[0] if numbers else _ROWS
    taken: dict[tuple[int, str, str], float] = {}
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=PARTITIONS) as broker:
        topic = PageViewTopic(broker.bootstrap)
        sizes = []
        for wanted in (rows // _SMALL_PART, rows):
            topic.grow(wanted)
            sizes.append(topic.truth.rows)
            for job, engine in product(names, (FLINK, MILLSTREAM)):
                taken[topic.truth.rows, job, engine.name] = seconds(
                    engine, job, broker.bootstrap, topic.truth, Path(name)
                )
    report(sizes[1], sizes[0], taken, names)


if __name__ == "__main__":
    main()
