"""Buckets that spread tasks evenly: one per task, so that the output of a task stays in order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEED: Final = 42
_WORD: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class TaskBuckets:
    numbers: tuple[int, ...]
    """One for each task after the exchange, in turn."""

    @classmethod
    def of(cls, spark: SparkSession) -> TaskBuckets:
        """Consecutive bucket numbers would leave some tasks of an exchange without any."""
        tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
        numbers: dict[int, int] = {}
        for number in count():
            numbers.setdefault(hash_of(number) % tasks, number)
            if len(numbers) == tasks:
                return cls(tuple(numbers[task] for task in range(tasks)))
        raise AssertionError("every task is found")

    def of_this_task(self) -> int:
        context = TaskContext.get()
        assert context is not None
        return self.numbers[context.partitionId() % len(self.numbers)]


def hash_of(number: int) -> int:
    """The hash by which Spark's exchange distributes an INT: Murmur3, signed."""
    mixed = _rotate(number * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    hashed = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _WORD) ^ 4
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _WORD
    hashed ^= hashed >> 16
    return hashed - (1 << 32) if hashed >> 31 else hashed


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _WORD
