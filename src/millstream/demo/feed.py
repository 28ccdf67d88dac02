"""Produces page views at a steady rate and counts them, so that the result can be verified."""

from __future__ import annotations

import datetime as dt
import json
import random
import threading
import time
from typing import Final

from confluent_kafka import Producer

from millstream.connectors.kafka.client_settings import client_settings
from millstream.demo.regions import Counts

REGIONS: Final = ("africa", "americas", "antarctica", "asia", "europe", "oceania")
_WEIGHTS: Final = (17, 13, 1, 59, 9, 1)
_USERS: Final = 40_000
_CHUNK: Final = 500


class PageViewFeed(threading.Thread):
    """Writes `rows` page views over `seconds`; afterwards `truth` holds what was written.

    The first few are written at once; the others wait for `go`, so that the job can be watched from the start.
    """

    def __init__(self, brokers: str, topic: str, rows: int, seconds: float, seed: int = 1) -> None:
        super().__init__(name="page views", daemon=True)
        self._producer = Producer({**client_settings({"bootstrap.servers": brokers}), "linger.ms": 20, "acks": "all"})
        self._topic = topic
        self._rows = rows
        self._seconds = seconds
        self._random = random.Random(seed)  # noqa: S311 - the same page views each time
        self._views = dict.fromkeys(REGIONS, 0)
        self._users: dict[str, set[int]] = {region: set() for region in REGIONS}
        self.go = threading.Event()
        self.produced = 0
        self.undelivered = 0

    def run(self) -> None:
        for _ in range(min(_CHUNK, self._rows)):
            self._produce_one()
        self._producer.flush(60)
        self.go.wait()
        start = time.monotonic()
        while self.produced < self._rows:
            for _ in range(min(_CHUNK, self._rows - self.produced)):
                self._produce_one()
            self._producer.poll(0)
            ahead = start + self._seconds * self.produced / self._rows - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        self.undelivered += self._producer.flush(60)

    @property
    def truth(self) -> dict[str, Counts]:
        return {
            region: Counts(self._views[region], len(self._users[region])) for region in REGIONS if self._views[region]
        }

    def _produce_one(self) -> None:
        [region] = self._random.choices(REGIONS, _WEIGHTS)
        user = int(self._random.triangular(1, _USERS, 1))
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
        view = {
            "user_id": user,
            "page_id": self._random.randint(1, 1000),
            "viewtime": now.isoformat(" ", "milliseconds"),
            "user_region": region,
        }
        self._send(json.dumps(view, separators=(",", ":")).encode())
        self._views[region] += 1
        self._users[region].add(user)
        self.produced += 1

    def _on_delivery(self, error: object, _: object) -> None:
        self.undelivered += error is not None

    def _send(self, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, on_delivery=self._on_delivery)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return
