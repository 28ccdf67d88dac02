"""Which offsets a batch reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.librdkafka.partition_consumer import Range
from millstream.reading.offset_plan import bound, flatten, group_ranges, nest, plan_ends, ranges_between, refuse_losses
from millstream.reading.reading_error import DeletedPartitionsError, RecreatedTopicError

PLACES = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 11))
OFFSETS = st.dictionaries(PLACES, st.integers(0, 10**9))


@given(OFFSETS, st.data())
def test_all_is_read_if_it_fits(starts: dict[tuple[str, int], int], data: st.DataObject) -> None:
    latest = {place: start + data.draw(st.integers(0, 1000)) for place, start in starts.items()}
    size = sum(latest.values()) - sum(starts.values())

    assert plan_ends(starts, latest, size) == latest
    assert plan_ends(starts, latest, None) == latest


@given(OFFSETS, st.integers(1, 10**6), st.data())
def test_a_batch_has_a_share_of_each_partition(
    starts: dict[tuple[str, int], int], most: int, data: st.DataObject
) -> None:
    latest = {place: start + data.draw(st.integers(0, 10**7)) for place, start in starts.items()}

    ends = plan_ends(starts, latest, most)

    sizes = {place: ends[place] - starts[place] for place in starts}
    waiting = [place for place in starts if latest[place] > starts[place]]
    assert ends.keys() == latest.keys()
    assert all(starts[place] <= ends[place] <= latest[place] for place in starts)
    assert all(sizes[place] >= 1 for place in waiting)
    assert sum(sizes.values()) <= max(most, len(waiting)) + len(waiting)


def test_shares_are_as_large_as_what_is_left_of_each_partition() -> None:
    starts, latest = {("a", 0): 100, ("a", 1): 0}, {("a", 0): 400, ("a", 1): 100}

    assert plan_ends(starts, latest, 40) == {("a", 0): 130, ("a", 1): 10}


def test_a_new_partition_is_read_from_its_first_message() -> None:
    ends = plan_ends({("a", 0): 5}, {("a", 0): 5, ("a", 1): 7}, 100)

    assert ranges_between({("a", 0): 5}, ends) == [Range("a", 1, 0, 7)]


def test_a_deleted_partition_is_a_loss() -> None:
    starts, latest = {("a", 0): 5, ("a", 1): 5}, {("a", 0): 9}

    with pytest.raises(DeletedPartitionsError, match="Partitions a-1 have been deleted"):
        refuse_losses(starts, latest)
    assert plan_ends(starts, latest, 100) == latest


def test_a_topic_that_begins_anew_is_a_loss() -> None:
    starts, latest = {("a", 0): 5}, {("a", 0): 2}

    with pytest.raises(RecreatedTopicError, match="Partition a-0 offset was changed from 5 to 2"):
        refuse_losses(starts, latest)
    assert plan_ends(starts, latest, 100) == latest
    assert ranges_between(starts, latest) == []


def test_a_bounded_scan_ends_at_its_end_and_reads_no_other_partition() -> None:
    latest, ends = {("a", 0): 50, ("a", 1): 50, ("a", 2): 50}, {("a", 0): 20, ("a", 1): 80}

    assert bound({}, latest, ends) == {("a", 0): 20, ("a", 1): 50}
    assert bound({("a", 0): 30}, latest, ends) == {("a", 0): 30, ("a", 1): 50}
    assert bound({}, latest, None) == latest


@given(st.lists(st.integers(1, 30_000)))
def test_few_messages_of_several_partitions_are_one_task(sizes: list[int]) -> None:
    ranges = [Range("a", number, 7, 7 + size) for number, size in enumerate(sizes)]

    groups = group_ranges(ranges, None)

    assert [each for group in groups for each in group] == ranges
    counts = [sum(each.end - each.start for each in group) for group in groups]
    assert all(count >= 10_000 or len(group) == 16 for count, group in zip(counts[:-1], groups, strict=False))
    assert all(len(group) <= 16 for group in groups)
    assert all(sum(each.end - each.start for each in group[:-1]) < 10_000 for group in groups)


@given(st.lists(st.integers(1, 30_000), max_size=40), st.integers(1, 9))
def test_rows_have_the_same_order_on_any_number_of_tasks(sizes: list[int], tasks: int) -> None:
    ranges = [Range("a", number, 7, 7 + size) for number, size in enumerate(sizes)]

    groups = group_ranges(ranges, tasks)

    assert [each for group in groups for each in group] == ranges
    assert len(groups) <= tasks
    assert all(groups)
    counts = [sum(each.end - each.start for each in group) for group in groups]
    largest_part = max(
        (sum(each.end - each.start for each in group) for group in group_ranges(ranges, None)), default=0
    )
    assert max(counts, default=0) <= sum(sizes) / tasks + largest_part


@given(OFFSETS)
def test_the_text_of_offsets_depends_on_nothing_but_them(offsets: dict[tuple[str, int], int]) -> None:
    other_order = dict(reversed(offsets.items()))

    assert json.dumps(nest(offsets)) == json.dumps(nest(other_order))
    assert flatten(json.loads(json.dumps(nest(offsets)))) == offsets


def test_tasks_have_the_order_of_partitions() -> None:
    ends = {("b", 0): 1, ("a", 10): 1, ("a", 9): 1}

    assert [(each.topic, each.partition) for each in ranges_between({}, ends)] == [("a", 9), ("a", 10), ("b", 0)]
