"""Gives messages back to librdkafka, which frees their memory."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from millstream.librdkafka import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD: Final = 8
_PROBED: Final = 8
"""As many messages as are in a list that is only looked at."""


def release_messages(addresses: NDArray[np.uint64]) -> None:
    """Each of them once. Without lists, a call per message takes as long as freeing it."""
    if _HAS_LISTS:
        library.destroy_messages(_write_list(addresses))  # and the list
    else:
        deque(map(library.message_destroy, addresses.tolist()), 0)


def _write_list(addresses: NDArray[np.uint64]) -> int:
    """A list as librdkafka makes it itself: the number of messages, and their addresses."""
    place: int = library.allocate((1 + len(addresses)) * _WORD)
    words = np.ctypeslib.as_array((ctypes.c_uint64 * (1 + len(addresses))).from_address(place))
    words[0] = len(addresses)
    words[1:] = addresses
    return place


def _has_lists() -> bool:
    """Whether this librdkafka has lists, and takes for one what is written here: their layout is its own affair.

    It may read anything in the list as an address, and go on from there, so that all addresses lead to this memory.
    """
    if library.destroy_messages is None:
        return False
    memory = np.zeros(_PROBED, np.uint64)
    addresses = memory.ctypes.data + np.arange(_PROBED, dtype=np.uint64) * np.uint64(_WORD)
    place = _write_list(addresses)
    try:
        if library.count_messages(place) != _PROBED:
            return False
        return all(library.get_message(place, number) == address for number, address in enumerate(addresses.tolist()))
    finally:
        library.free(place)


_HAS_LISTS: Final = _has_lists()
