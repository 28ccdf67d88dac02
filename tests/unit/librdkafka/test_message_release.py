"""Messages are given back all at once, or one by one where librdkafka has no lists of messages."""

from __future__ import annotations

import ctypes
from unittest.mock import patch

import numpy as np

from millstream.librdkafka import library, message_release


def test_librdkafka_takes_the_list_for_one_of_its_own() -> None:
    """If not, reading takes half as long again, and nothing else would show it."""
    assert message_release._HAS_LISTS


def test_a_library_without_lists_is_noticed() -> None:
    with patch.object(library, "destroy_messages", None):
        assert not message_release._has_lists()


def test_a_library_with_other_lists_is_noticed() -> None:
    with patch.object(library, "get_message", lambda place, number: library.count_messages(place + 8 * number)):
        assert not message_release._has_lists()


def test_a_library_whose_lists_lead_elsewhere_is_noticed() -> None:
    """Such a one finds messages where a word of the list points to, which would end the process."""

    def get_message(place: int, number: int) -> int:
        array: int = ctypes.c_uint64.from_address(place + 16).value
        return ctypes.c_uint64.from_address(array + 8 * number).value

    with patch.object(library, "get_message", get_message):
        assert not message_release._has_lists()


def test_a_library_that_counts_otherwise_is_asked_no_further() -> None:
    with (
        patch.object(library, "count_messages", lambda place: place),
        patch.object(library, "get_message", side_effect=AssertionError),
    ):
        assert not message_release._has_lists()


def test_without_lists_each_message_is_given_back_once() -> None:
    given: list[int] = []
    with (
        patch.object(message_release, "_HAS_LISTS", new=False),
        patch.object(library, "message_destroy", given.append),
    ):
        message_release.release_messages(np.array([30, 10, 20], np.uint64))
    assert given == [30, 10, 20]
