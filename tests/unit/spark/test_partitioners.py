"""Partitions that are chosen by task or by a class of the user's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from millstream.spark.job_errors import UnwritableRowError
from millstream.spark.partitioners import Choice, Rotation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = {"small": (0,), "large": (0, 1, 2)}


class Remembering:
    """Answers what it was opened and asked with, as a number."""

    def open(self, task: int, tasks: int | None) -> None:
        self.opened = (task, tasks)

    def partition(self, key: bytes | None, value: bytes | None, topic: str, partitions: Sequence[int]) -> int:
        assert (self.opened, value, topic) == ((1, 2), b"v", "large")
        return partitions[int(key or b"0")]


class Answering:
    def __init__(self, answer: object) -> None:
        self._answer = answer

    def partition(self, *_: object) -> object:
        return self._answer


def choice(custom: Callable[..., object] | None = None) -> Choice:
    return Choice("t", None, 2, SIZES.__getitem__, "m:C", custom)  # type: ignore[arg-type]


@pytest.mark.parametrize("task", range(5))
def test_a_task_writes_to_one_partition_of_a_topic(task: int) -> None:
    choose = choice().open(task)
    assert {choose(b"a", b"v", "large"), choose(None, None, "large")} == {task % 3}
    assert choose(b"a", b"v", "small") == 0


def test_partitions_are_asked_for_once() -> None:
    looked_up: list[str] = []

    def partitions_of(topic: str) -> tuple[int, ...]:
        looked_up.append(topic)
        return SIZES[topic]

    choose = Choice("t", None, None, partitions_of).open(0)
    for topic in ("large", "small", "large"):
        choose(None, b"v", topic)
    assert looked_up == ["large", "small"]


def test_a_class_is_opened_and_asked() -> None:
    choose = choice(Remembering).open(1)
    assert [choose(key, b"v", "large") for key in (b"2", b"1", None)] == [2, 1, 0]


@pytest.mark.parametrize("answer", [3, -1, None, "1", 1.5])
def test_an_answer_that_is_no_partition(answer: object) -> None:
    with pytest.raises(
        UnwritableRowError, match=re.escape(f"chose {answer!r} for topic large, which has partitions 0 to 2")
    ):
        choice(lambda: Answering(answer)).open(0)(b"k", b"v", "large")


def test_a_class_that_fails() -> None:
    with pytest.raises(UnwritableRowError, match="Partitioner 'm:C' failed with IndexError"):
        choice(Remembering).open(1)(b"7", b"v", "large")
    with pytest.raises(UnwritableRowError, match="failed with TypeError"):
        choice(Answering).open(0)


@pytest.mark.parametrize("first", range(4))
def test_partitions_in_turn(first: int) -> None:
    turns_of = Rotation(None, SIZES.__getitem__).turns(first)
    topics = ["large", "large", "small", "large", "large", "small"]
    chosen = [next(turns_of(topic)) for topic in topics]
    assert [number for topic, number in zip(topics, chosen, strict=True) if topic == "small"] == [0, 0]
    large = [number for topic, number in zip(topics, chosen, strict=True) if topic == "large"]
    assert large == [(first + place) % 3 for place in range(4)]
