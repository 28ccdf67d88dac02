"""A follower that lags behind the leader's end, on librdkafka's own mock of a cluster."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, cimpl

from millstream.connectors.kafka.consumer_settings import consumer_settings
from millstream.librdkafka import library
from millstream.librdkafka.partition_consumer import OFFSET, OffsetNotThereError, PartitionConsumer, Range

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = ctypes.CDLL(cimpl.__file__)
TOPIC = b"t"
LEADER, FOLLOWER = 1, 2


class MockCluster:
    """A leader and a follower with 100 messages, of which the follower may know fewer."""

    def __init__(self) -> None:
        self._ignore = library.ERROR_CALLBACK(lambda *_: None)
        settings = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
        self._client = library.create_client(library.PRODUCER, settings, self._ignore)
        LIBRARY.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
        LIBRARY.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        self._cluster = ctypes.c_void_p(LIBRARY.rd_kafka_mock_cluster_new(self._client, 2))
        self.bootstrap = LIBRARY.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        LIBRARY.rd_kafka_mock_topic_create(self._cluster, TOPIC, 1, 2)
        LIBRARY.rd_kafka_mock_partition_set_leader(self._cluster, TOPIC, 0, LEADER)
        for broker, rack in ((LEADER, b"A"), (FOLLOWER, b"B")):
            LIBRARY.rd_kafka_mock_broker_set_rack(self._cluster, broker, rack)
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for batch in range(10):
            for number in range(10):
                producer.produce("t", b"%d" % (10 * batch + number), partition=0)
            producer.flush()
        LIBRARY.rd_kafka_mock_partition_set_follower(self._cluster, TOPIC, 0, FOLLOWER)

    def let_follower_know(self, end: int) -> None:
        first, last = ctypes.c_int64(-1), ctypes.c_int64(end)
        LIBRARY.rd_kafka_mock_partition_set_follower_wmarks(self._cluster, TOPIC, 0, first, last)

    def close(self) -> None:
        LIBRARY.rd_kafka_mock_cluster_destroy(self._cluster)
        library.destroy(self._client)


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    made = MockCluster()
    yield made
    made.close()


def read(cluster: MockCluster, start: int, end: int) -> list[int]:
    nearby = {"bootstrap.servers": cluster.bootstrap, "client.rack": "B", "max.partition.fetch.bytes": "50"}
    consumer = PartitionConsumer(consumer_settings(nearby), patience_seconds=30)
    found: list[int] = []
    for wanted in consumer.start_in_turn([Range("t", 0, start, end)]):
        for batch in consumer.read(wanted, [OFFSET]):
            found += batch.column(OFFSET).to_pylist()
    return found


def test_what_the_follower_does_not_have_yet_is_awaited(cluster: MockCluster) -> None:
    cluster.let_follower_know(60)
    later = threading.Timer(2, cluster.let_follower_know, [100])
    later.start()

    assert read(cluster, 30, 100) == list(range(30, 100))
    later.join()


def test_what_the_leader_does_not_have_either_is_not_there(cluster: MockCluster) -> None:
    cluster.let_follower_know(100)

    with pytest.raises(OffsetNotThereError, match="t-0 has no offset 100"):
        read(cluster, 90, 120)
