"""A topic of page views that can grow, and the expected results of queries over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc
from confluent_kafka import Producer

from benchmarks.harness.page_views import COLUMNS, USERS, page_views
from millstream.connectors.kafka.client_settings import client_settings
from millstream.formats.json_encode import JsonEncoder
from millstream.formats.json_options import JsonOptions
from millstream.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    import pyarrow as pa

TOPIC: Final = "pageviews"
PARTITIONS: Final = 4
_CHUNK: Final = 50_000
_REGIONS: Final = 10


class Truth:
    """Computed from the rows themselves, independently of what reads the topic."""

    def __init__(self) -> None:
        self._views = np.zeros(_REGIONS, np.int64)
        self._seen = np.zeros((_REGIONS, USERS), np.bool_)
        self._sums = np.zeros(3, np.int64)

    def add(self, rows: pa.Table) -> None:
        users = rows["user_id"].to_numpy()
        regions = pc.utf8_slice_codeunits(rows["user_region"], len("region_")).cast("int64").to_numpy()
        self._views += np.bincount(regions, minlength=_REGIONS)
        self._seen[regions, users] = True
        self._sums += [int(pc.sum(rows[name].cast("int64")).as_py()) for name in ("user_id", "page_id", "viewtime")]

    @property
    def rows(self) -> int:
        return int(self._views.sum())

    @property
    def views(self) -> dict[str, int]:
        """By region."""
        return {f"region_{number}": int(count) for number, count in enumerate(self._views) if count}

    @property
    def users(self) -> dict[str, int]:
        """Distinct users, by region."""
        return {f"region_{number}": int(count) for number, count in enumerate(self._seen.sum(axis=1)) if count}

    def __str__(self) -> str:
        sums = ", ".join(map(str, self._sums))
        return f"{self.rows:,} rows, per region {self.views} of {self.users} users, sums of the columns {sums}"

    def equals(self, other: Truth) -> bool:
        return str(self) == str(other)


class PageViewTopic:
    def __init__(self, brokers: str) -> None:
        self._producer = Producer(
            {**client_settings({"bootstrap.servers": brokers}), "linger.ms": 50, "batch.size": 1 << 20}
        )
        self.truth = Truth()
        self.rows = 0
        KafkaAdmin({"bootstrap.servers": brokers}).ensure_topic(TOPIC, TOPIC)

    def grow(self, rows: int) -> None:
        """Up to this many rows, in whole chunks."""
        encoder = JsonEncoder(COLUMNS, JsonOptions())
        while self.rows + _CHUNK <= rows:
            views = page_views(_CHUNK, seed=self.rows)
            self.truth.add(views)
            messages = encoder.encode(views).to_pylist()
            for partition in range(PARTITIONS):
                part = [{"value": value} for value in messages[partition::PARTITIONS]]
                self._producer.produce_batch(TOPIC, part, partition=partition)
            self._producer.flush(60)
            self.rows += _CHUNK
