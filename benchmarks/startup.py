"""How long until something happens: `python -m benchmarks.startup`.

The time of `millstream --help`, and of `millstream run` until its first batch has ended, with and without the
archive of Spark's classes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Final

from millstream.demo.feed import PageViewFeed
from millstream.jvm.shared_classes import SWITCH
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker import EmbeddedBroker

COMMAND: Final = [sys.executable, "-m", "millstream.cli.main"]
_ROUNDS: Final = 3


def help_seconds() -> float:
    begin = perf_counter()
    subprocess.run([*COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - begin


def first_batch_seconds(brokers: str, environment: dict[str, str]) -> float:
    """From the start of the process to its report of the first batch."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "pageviews.sql"
        script.write_text(resources.files("millstream.demo").joinpath("pageviews.sql").read_text())
        begin = perf_counter()
        with subprocess.Popen(
            [*COMMAND, "run", str(script), "--drain", "--param", f"brokers={brokers}", "--output", "json"],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as job:
            assert job.stdout is not None
            assert json.loads(job.stdout.readline())["batch"] == 0
            return perf_counter() - begin


def main() -> None:
    print(f"millstream --help             {min(help_seconds() for _ in range(_ROUNDS)):6.2f} s")
    with EmbeddedBroker(partitions=4) as broker:
        KafkaAdmin({"bootstrap.servers": broker.bootstrap}).ensure_topic("pageviews", "pageviews")
        feed = PageViewFeed(broker.bootstrap, "pageviews", 1000, 0)
        feed.go.set()
        feed.run()
        first_batch_seconds(broker.bootstrap, {})  # creates the archive
        with_archive = [first_batch_seconds(broker.bootstrap, {}) for _ in range(_ROUNDS)]
        without = [first_batch_seconds(broker.bootstrap, {SWITCH: "off"}) for _ in range(_ROUNDS)]
    print(f"run to the end of first batch {min(with_archive):6.1f} s with the class archive")
    print(f"                              {min(without):6.1f} s without, ratio {min(without) / min(with_archive):.2f}")


if __name__ == "__main__":
    main()
