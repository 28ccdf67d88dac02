"""The first group of a cluster: it has no coordinator yet, and clients have to retry."""

from __future__ import annotations

import subprocess
import sys

from millstream.testing.broker import EmbeddedBroker
from tests.patience import PATIENCE

ASK = """
import sys
from confluent_kafka import TopicPartition
from millstream.delivery.committed import fetch_committed_offsets, offsets_of_group
properties = {"bootstrap.servers": sys.argv[1]}
second = fetch_committed_offsets(properties, "second", [TopicPartition("t", 0)])
print(offsets_of_group(properties, "first", "t"), second)
"""


def test_offsets_are_asked_for_until_there_is_a_coordinator() -> None:
    """In a separate process, since a client may crash on such a response."""
    with EmbeddedBroker() as broker:
        result = subprocess.run(
            [sys.executable, "-c", ASK, broker.bootstrap], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert (result.returncode, result.stdout.strip()) == (0, "[] []"), result.stderr
