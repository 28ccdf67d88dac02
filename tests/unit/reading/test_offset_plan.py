"""Which offsets a batch reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.librdkafka.partition_consumer import Range
from millstream.reading.offset_plan import flatten, nest, plan_ends, ranges_between
from millstream.reading.reading_error import DeletedPartitionsError, RecreatedTopicError

PLACES = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 11))
OFFSETS = st.dictionaries(PLACES, st.integers(0, 10**9))


@given(OFFSETS, st.data())
def test_all_is_read_if_it_fits(starts: dict[tuple[str, int], int], data: st.DataObject) -> None:
    latest = {place: start + data.draw(st.integers(0, 1000)) for place, start in starts.items()}
    size = sum(latest.values()) - sum(starts.values())

    assert plan_ends(starts, latest, size, may_lose=False) == latest
    assert plan_ends(starts, latest, None, may_lose=False) == latest


@given(OFFSETS, st.integers(1, 10**6), st.data())
def test_a_batch_has_a_share_of_each_partition(
    starts: dict[tuple[str, int], int], most: int, data: st.DataObject
) -> None:
    latest = {place: start + data.draw(st.integers(0, 10**7)) for place, start in starts.items()}

    ends = plan_ends(starts, latest, most, may_lose=False)

    sizes = {place: ends[place] - starts[place] for place in starts}
    waiting = [place for place in starts if latest[place] > starts[place]]
    assert ends.keys() == latest.keys()
    assert all(starts[place] <= ends[place] <= latest[place] for place in starts)
    assert all(sizes[place] >= 1 for place in waiting)
    assert sum(sizes.values()) <= max(most, len(waiting)) + len(waiting)


def test_shares_are_as_large_as_what_is_left_of_each_partition() -> None:
    starts, latest = {("a", 0): 100, ("a", 1): 0}, {("a", 0): 400, ("a", 1): 100}

    assert plan_ends(starts, latest, 40, may_lose=False) == {("a", 0): 130, ("a", 1): 10}


def test_a_new_partition_is_read_from_its_first_message() -> None:
    ends = plan_ends({("a", 0): 5}, {("a", 0): 5, ("a", 1): 7}, 100, may_lose=False)

    assert ranges_between({("a", 0): 5}, ends) == [Range("a", 1, 0, 7)]


def test_a_deleted_partition_is_an_error_unless_messages_may_be_lost() -> None:
    with pytest.raises(DeletedPartitionsError, match="Partitions a-1 have been deleted"):
        plan_ends({("a", 0): 5, ("a", 1): 5}, {("a", 0): 9}, 100, may_lose=False)
    assert plan_ends({("a", 0): 5, ("a", 1): 5}, {("a", 0): 9}, 100, may_lose=True) == {("a", 0): 9}


def test_a_topic_that_begins_anew_is_an_error_unless_messages_may_be_lost() -> None:
    with pytest.raises(RecreatedTopicError, match="Partition a-0 offset was changed from 5 to 2"):
        plan_ends({("a", 0): 5}, {("a", 0): 2}, 100, may_lose=False)
    ends = plan_ends({("a", 0): 5}, {("a", 0): 2}, 100, may_lose=True)
    assert ends == {("a", 0): 2}
    assert ranges_between({("a", 0): 5}, ends) == []


@given(OFFSETS)
def test_the_text_of_offsets_depends_on_nothing_but_them(offsets: dict[tuple[str, int], int]) -> None:
    other_order = dict(reversed(offsets.items()))

    assert json.dumps(nest(offsets)) == json.dumps(nest(other_order))
    assert flatten(json.loads(json.dumps(nest(offsets)))) == offsets


def test_tasks_have_the_order_of_partitions() -> None:
    ends = {("b", 0): 1, ("a", 10): 1, ("a", 9): 1}

    assert [(each.topic, each.partition) for each in ranges_between({}, ends)] == [("a", 9), ("a", 10), ("b", 0)]
