"""The ends of bounded scans, as they are kept, and what a group is told of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.read_range import ReadRange
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.group_offsets import GroupOffsets, offsets_to_commit
from millstream.runtime.kafka.scan_ends import keep_ends, read_kept_ends
from tests.declaring import KAFKA, declare, source

if TYPE_CHECKING:
    from pathlib import Path

GROUP = {"properties.group.id": "g"}


def test_ends_are_kept_in_the_order_of_the_scans(tmp_path: Path) -> None:
    ends = [{("a", 0): 3, ("a", 1): 0, ("b-1", 0): 7}, None, {}]
    keep_ends(tmp_path / "job", ends)
    assert read_kept_ends(tmp_path / "job") == ends


def test_nothing_is_kept_of_endless_scans(tmp_path: Path) -> None:
    keep_ends(tmp_path / "job", [None, None])
    assert not (tmp_path / "job").exists()
    assert read_kept_ends(tmp_path / "job") == []


def test_a_group_is_told_of_its_own_topics_only() -> None:
    table = source(declare({**KAFKA, **GROUP}))
    assert offsets_to_commit(table, ReadRange("earliest"), {("orders", 0): 5, ("other", 0): 9}) == {("orders", 0): 5}


def test_a_group_is_told_of_nothing_behind_the_end() -> None:
    table = source(declare({**KAFKA, **GROUP}))
    reached = {("orders", 0): 5, ("orders", 1): 2, ("orders", 2): 1}
    ends = ReadRange("earliest", {("orders", 0): 3, ("orders", 1): 4})
    assert offsets_to_commit(table, ends, reached) == {("orders", 0): 3, ("orders", 1): 2}


def test_a_pattern_means_whole_names() -> None:
    table = source(declare({**KAFKA, **GROUP, "topic": None, "topic-pattern": "shop-.*|x"}))
    reached = {("shop-a", 0): 1, ("workshop-a", 0): 2, ("xy", 0): 3, ("x", 0): 4}
    assert offsets_to_commit(table, ReadRange("earliest"), reached) == {("shop-a", 0): 1, ("x", 0): 4}


def test_without_a_group_or_without_leave_nothing_is_committed() -> None:
    switched_off = {**KAFKA, **GROUP, "properties.commit.offsets.on.checkpoint": "false"}
    for options, expected in ((KAFKA, False), ({**KAFKA, **GROUP}, True), (switched_off, False)):
        assert (
            GroupOffsets([(source(declare(options)), ReadRange("earliest"))], KafkaClients()).is_asked_for is expected
        )
