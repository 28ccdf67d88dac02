"""`millstream demo`: broker, page views, job, live table and comparison; removes everything afterwards."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.cli.demo_screen import DemoScreen
from millstream.cli.numbers import count, duration
from millstream.cli.stop_signal import StopSignal
from millstream.demo.feed import PageViewFeed
from millstream.demo.regions import RegionTable
from millstream.errors import Code, Diagnostic, JobError
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.demo.regions import Counts
    from millstream.runtime.job import Job

_PARTITIONS: Final = 4
_INTERRUPTED: Final = 130
_SOURCE, _SINK = "pageviews", "pageviews_per_region"


def run_demo(rows: int, seconds: int) -> int:
    stop = StopSignal()
    with ExitStack() as started:
        folder = Path(tempfile.mkdtemp(prefix="millstream-demo-"))
        started.callback(shutil.rmtree, folder, ignore_errors=True)
        screen = started.enter_context(DemoScreen(rows))
        screen.say("starting a Kafka broker")
        broker = started.enter_context(
            EmbeddedBroker(data=folder / "broker", partitions=_PARTITIONS, notice=screen.say)
        )
        admin = KafkaAdmin({"bootstrap.servers": broker.bootstrap})
        for topic in (_SOURCE, _SINK):
            admin.ensure_topic(topic, topic)
        screen.say(f"broker ready at {broker.bootstrap}; starting Spark and the job")
        from millstream.runtime.session import Session

        session = started.enter_context(
            Session(checkpoint=folder / "checkpoint", on_notice=screen.say, on_progress=screen.progress)
        )
        script = resources.files("millstream.demo").joinpath("pageviews.sql").read_text()
        [job] = session.execute_sql(script, name="pageviews.sql", parameters={"brokers": broker.bootstrap})
        stop.listen()
        table = RegionTable(broker.bootstrap, _SINK)
        table.start()
        started.callback(table.close)
        feed = PageViewFeed(broker.bootstrap, _SOURCE, rows, seconds)
        screen.watch(feed, table)
        feed.start()
        screen.say("the first page views are produced; waiting for the first batch")
        if not _wait_until(lambda: job.progress is not None, job, stop):
            return _INTERRUPTED
        screen.say(f"producing {count(rows)} page views over {duration(seconds)}")
        begun = time.monotonic()
        feed.go.set()
        if not _wait_until(lambda: not feed.is_alive(), job, stop, seconds + 120):
            return _INTERRUPTED
        if feed.undelivered:
            lost = f"{feed.undelivered} page views were not delivered to the broker"
            raise JobError(Diagnostic(Code.JOB_FAILED, lost))
        job.await_caught_up(120)
        table.read_to_end()
        screen.finish()
        return _report_result(screen, feed.truth, table, time.monotonic() - begun)


def _wait_until(done: Callable[[], bool], job: Job, stop: StopSignal, seconds: float = 120) -> bool:
    """False if the user stops waiting; raises the job's failure, or a timeout."""
    deadline = time.monotonic() + seconds
    while not done():
        if stop.wait(0.1):
            return False
        if time.monotonic() > deadline:
            raise JobError(Diagnostic(Code.JOB_FAILED, f"nothing happened for {duration(seconds)}"))
        job.raise_failure()
    return True


def _report_result(screen: DemoScreen, truth: dict[str, Counts], table: RegionTable, seconds: float) -> int:
    views = sum(counts.views for counts in truth.values())
    if table.rows == truth:
        screen.conclude(
            f"equal: {count(views)} page views in {len(truth)} regions, counted by the job as they were produced "
            f"({count(table.messages)} upserts, {duration(seconds)})",
            good=True,
        )
        return 0
    for region in sorted(truth.keys() | table.rows.keys()):
        if truth.get(region) != table.rows.get(region):
            screen.conclude(
                f"{region}: produced {truth.get(region)}, the job says {table.rows.get(region)}", good=False
            )
    screen.conclude("NOT equal: the job's result differs from what was produced", good=False)
    return 1
