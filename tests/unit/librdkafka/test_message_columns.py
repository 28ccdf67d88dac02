"""Columns are read from and written to the addresses of messages."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.librdkafka.message_columns import MESSAGE, copy_values, read_messages, write_messages

VALUES = st.lists(st.none() | st.binary(max_size=40), min_size=1, max_size=200)


@given(VALUES, st.integers(0, 3))
def test_values_are_found_where_columns_have_them(values: list[bytes | None], skipped: int) -> None:
    """A slice has an offset into its buffers."""
    column = pa.array([b"before"] * skipped + values, pa.binary()).slice(skipped)
    keys = pa.array([None if value is None else value[:5] for value in values], pa.binary())

    messages = write_messages(keys, column, np.arange(len(values)))

    assert _copy(messages, "payload", "len").to_pylist() == values
    assert _copy(messages, "key", "key_len").equals(keys)
    assert messages["partition"].tolist() == list(range(len(values)))


@given(VALUES)
def test_values_are_copied_from_scattered_memory(values: list[bytes | None]) -> None:
    """Each has memory of its own; lengths around 12 bytes are stored differently."""
    held = [None if value is None else ctypes.create_string_buffer(value, max(len(value), 1)) for value in values]
    addresses = np.array([0 if each is None else ctypes.addressof(each) for each in held], np.uint64)
    lengths = np.array([len(value or b"") for value in values], np.uint64)

    assert copy_values(addresses, lengths).to_pylist() == values


def test_fields_are_read_from_scattered_messages() -> None:
    messages = np.zeros(100, MESSAGE)
    messages["err"] = np.arange(100) - 50
    messages["offset"] = np.arange(100) * 10**12
    chosen = np.array([3, 99, 0, 41])
    addresses = messages.ctypes.data + chosen.astype(np.uint64) * MESSAGE.itemsize

    read = read_messages(addresses.astype(np.uint64))

    assert read["err"].tolist() == [-47, 49, -50, -9]
    assert read["offset"].tolist() == [int(place) * 10**12 for place in chosen]


def test_values_may_be_further_apart_than_a_view_reaches() -> None:
    """2 GiB lie between them, of which nothing is touched."""
    memory = np.empty(3 << 30, np.uint8)
    first, last = memory[:20], memory[-20:]
    first[:], last[:] = 1, 2

    copied = copy_values(np.array([first.ctypes.data, last.ctypes.data], np.uint64), np.array([20, 20], np.uint64))

    assert copied.to_pylist() == [b"\1" * 20, b"\2" * 20]


def _copy(messages: np.ndarray, address: str, length: str) -> pa.Array:
    return copy_values(messages[address].copy(), messages[length].copy())
