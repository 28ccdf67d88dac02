"""Apache Flink and Millstream over the same topic of one broker: `python -m benchmarks.beside_flink [ROWS] [JOB…]`.

Both run the same script from a cold start until the output topic holds the truth, over ROWS page views and over a third
of them: the difference is steady state, because start-up cancels. It downloads 320 MB once, and needs 8 GB of memory.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.harness.engines import FLINK, FLINK_JAVA, FLINK_SETTINGS, MILLSTREAM, PARALLELISM, Engine
from benchmarks.harness.flink_jars import flink_jars
from benchmarks.harness.outcomes import AllRows, LastValues, Outcome
from benchmarks.harness.page_view_topic import PARTITIONS, TOPIC, PageViewTopic, Truth
from benchmarks.harness.processor_time import ProcessorTime
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Callable

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


class Taken(NamedTuple):
    """By one job over one size of the topic, including the start; or the difference of two, without it."""

    rows: int
    seconds: float
    core_seconds: float

    def beyond(self, smaller: Taken) -> Taken:
        return Taken(self.rows - smaller.rows, self.seconds - smaller.seconds, self.core_seconds - smaller.core_seconds)

    def __str__(self) -> str:
        return f"{self.rows / self.seconds:>9,.0f} rows/s, {self.core_seconds / self.rows * 1e6:5.2f} core-s per M rows"


def measure(engine: Engine, name: str, brokers: str, truth: Truth, folder: Path) -> Taken:
    """From the start of the engine's process until the output topic has the correct result."""
    output = f"{name}-{engine.name}-{truth.rows}"
    outcome = JOBS[name].outcome(brokers, output, truth)
    before, begin = ProcessorTime.now(), time.perf_counter()
    with engine.start(JOBS[name].script(brokers, output), folder / output) as run:
        while not outcome.is_reached() and time.perf_counter() - begin < _PATIENCE_SECONDS:
            run.check()
        used, seconds = ProcessorTime.now().since(before), time.perf_counter() - begin
    if wrong := outcome.difference():
        sys.exit(f"{engine.name} is wrong at {name} after {seconds:.0f} s: {wrong}\n{run.last_lines()}")
    print(
        f"{name:<14}{truth.rows:>12,} rows  {engine.name:<12}{seconds:>7.1f} s from a cold start,"
        f" {used.ours:.1f} core-s; others on this machine used {used.others:.1f}",
        flush=True,
    )
    return Taken(truth.rows, seconds, used.ours)


def report(name: str, flink: Taken, ours: Taken) -> None:
    if min(flink.seconds, ours.seconds) <= 0:
        sys.exit(f"{name}: three times the rows took no longer; too few rows, or others kept the machine busy")
    print(f"{name}, steady state over {ours.rows:,} rows")
    print(f"  Flink      {flink}")
    ratio, core_ratio = flink.seconds / ours.seconds, flink.core_seconds / ours.core_seconds
    print(f"  Millstream {ours}; ratio of rates {ratio:.2f}, of work per core-s {core_ratio:.2f}")


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    names = [argument for argument in sys.argv[1:] if not argument.isdigit()] or list(JOBS)
    if undefined := set(names) - set(JOBS):
        sys.exit(f"there is no job {', '.join(sorted(undefined))}; there are {', '.join(JOBS)}")
    rows = numbers[0] if numbers else _ROWS
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that no engine is left running
    flink_jars()  # now, because a download is not part of a run
    settings = ", ".join(f"{key} = {value}" for key, value in FLINK_SETTINGS.items())
    print(f"page views of about 100 bytes, {PARTITIONS} partitions; Millstream: its defaults, {PARALLELISM} tasks")
    print(f"Flink: {', '.join(FLINK_JAVA)}, {settings}")
    taken: dict[tuple[str, Engine], list[Taken]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker(partitions=PARTITIONS) as broker:
        topic = PageViewTopic(broker.bootstrap)
        for size in (rows // _SMALL_PART, rows):
            topic.grow(size)
            for name, engine in product(names, (FLINK, MILLSTREAM)):
                taken[name, engine].append(measure(engine, name, broker.bootstrap, topic.truth, Path(folder)))
    for name in names:
        flink, ours = (large.beyond(small) for small, large in (taken[name, engine] for engine in (FLINK, MILLSTREAM)))
        report(name, flink, ours)


if __name__ == "__main__":
    main()
