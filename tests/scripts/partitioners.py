"""User-defined partitioners, named by script tests as 'partitioners:Class'."""
# ruff: noqa: ARG002

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class ByLength:
    """The longer the key, the higher the partition; the last one for messages without a key."""

    def open(self, task: int, tasks: int | None) -> None:
        assert task == 0
        assert tasks == 1

    def partition(self, key: bytes | None, value: bytes | None, topic: str, partitions: Sequence[int]) -> int:
        return partitions[-1] if key is None else partitions[len(key) % len(partitions)]


class TooFar:
    def partition(self, key: bytes | None, value: bytes | None, topic: str, partitions: Sequence[int]) -> int:
        return len(partitions)


class Failing:
    def partition(self, key: bytes | None, value: bytes | None, topic: str, partitions: Sequence[int]) -> int:
        raise KeyError(key)


class WithoutMethod:
    pass
