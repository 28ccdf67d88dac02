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
    """Whether this librdkafka has lists, and takes for one what is written here: their layout is its own affair."""
    if library.destroy_messages is None:
        return False
    place = _write_list(np.array([1111, 2222], np.uint64))
    found = [library.count_messages(place), *(library.get_message(place, number) for number in range(2))]
    library.free(place)
    return found == [2, 1111, 2222]


_HAS_LISTS: Final = _has_lists()
