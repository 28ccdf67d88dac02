"""Packets of a task: where they wait, and how a kernel takes them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.spark import packet_store, packets
from millstream.spark.packet_store import PacketStore
from millstream.spark.packets import pack, unpack_in_steps
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from millstream.kernels.operator import Parts

BUCKETS = 3
HASHES = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 20), min_size=1, max_size=60)


def table_of(hashes: list[int]) -> pa.Table:
    return pa.table({HASH: pa.array(hashes, pa.int64()), "row": np.arange(len(hashes))})


def rows_of(parts: Parts) -> Counter[tuple[str, int, int]]:
    return Counter((part, row[HASH], row["row"]) for part, rows in parts.items() for row in rows.to_pylist())


@given(lefts=HASHES, rights=HASHES, most=st.integers(500, 9000))
def test_steps_have_every_row_once_and_all_of_a_hash(lefts: list[int], rights: list[int], most: int) -> None:
    batches = [{"left": table_of(lefts), "right": table_of(rights)}, {"left": table_of(rights)}]
    sent: dict[int, list[tuple[str, bytes]]] = {}
    for batch in batches:
        for row in pack(batch, BUCKETS).to_pylist():
            sent.setdefault(row["bucket"], []).append((row["part"], row["payload"]))
    found: Counter[tuple[str, int, int]] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packets, "_STEP_BYTES", most)
        for of_bucket in sent.values():
            steps = [rows_of(parts) for parts in unpack_in_steps(of_bucket, BUCKETS)]
            hashes = [{hash_ for _, hash_, _ in step} for step in steps]
            assert sum(map(len, hashes)) == len(set().union(*hashes))
            found += sum(steps, Counter())
    assert found == sum(map(rows_of, batches), Counter())


def test_many_hashes_are_spread_over_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, 30_000)
    payloads = [
        (row["part"], row["payload"])
        for row in pack({"rows": table_of(hashes.tolist())}, BUCKETS).to_pylist()
        if row["bucket"] == 1
    ]
    monkeypatch.setattr(packets, "_STEP_BYTES", sum(len(payload) for _, payload in payloads) // 4 + 1)
    steps = [parts["rows"].num_rows for parts in unpack_in_steps(payloads, BUCKETS)]
    assert len(steps) == 4
    assert min(steps) > 0.8 * max(steps)


def test_packets_that_are_too_many_wait_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_store, "_MOST_HELD", 1000)
    written = [bytes([number]) * (number + 1) for number in range(100)]
    store = PacketStore()
    stored = [store.add(pa.py_buffer(packet)) for packet in written]
    assert sum(packet.size for packet in stored if isinstance(packet, pa.Buffer)) <= 1000
    assert sum(not isinstance(packet, pa.Buffer) for packet in stored) > 50
    assert [store.load(packet).to_pybytes() for packet in stored] == written
