"""The random choices of a soak test, which depend only on the seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from millstream.failpoints import FAILPOINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS: Final = 9.0
"""About the duration of a start: some kills happen during it."""
BATCH_SECONDS: Final = 12.0
_MOST_SURVIVED: Final = 3
"""Per life: a job gives up after more deaths of workers in a row."""
_LAST_COUNT: Final = 6
_IN_TASKS: Final = tuple(name for name in sorted(FAILPOINTS) if name not in ("after-task", "after-batch"))


class Victim(StrEnum):
    JOB = "whole job"
    DRIVER = "driver"
    JVM = "JVM"
    WORKER = "worker"
    DELIVERY = "delivery"
    FAILPOINT = "failpoint"
    EXCEPTION = "exception"
    CANCELLED = "cancelled"


_FATAL: Final = (Victim.JOB, Victim.DRIVER, Victim.JVM)
_SURVIVED: Final = (Victim.WORKER, Victim.DELIVERY)


@dataclass(frozen=True, slots=True)
class Kill:
    """Happens `moment` seconds after the start or the first batch; `lot`, below 1, chooses one of several processes."""

    moment: float
    victim: Victim
    lot: float


@dataclass(frozen=True, slots=True)
class LifePlan:
    """One run of the jobs: its kills in order, the last of them fatal; or an armed failpoint."""

    kills: tuple[Kill, ...]
    in_start: bool = False
    armed: str | None = None


def life_plans(seed: int) -> Iterator[LifePlan]:
    chance = random.Random(seed)
    kinds = (_in_start, _at_a_failpoint, _in_a_task, _in_batches)
    while True:
        [kind] = chance.choices(kinds, weights=(5, 4, 6, 11))
        yield kind(chance)


def _in_start(chance: random.Random) -> LifePlan:
    return LifePlan((_kill(chance, chance.uniform(0, START_SECONDS), _FATAL),), in_start=True)


def _at_a_failpoint(chance: random.Random) -> LifePlan:
    return LifePlan((), armed=f"{chance.choice(sorted(FAILPOINTS))}:{chance.randint(1, _LAST_COUNT)}")


def _in_a_task(chance: random.Random) -> LifePlan:
    """An exception, or a cancelled batch, in the middle of the rows of a task."""
    way = chance.choice(("raise", "cancel"))
    return LifePlan((), armed=f"{chance.choice(_IN_TASKS)}:{chance.randint(1, _LAST_COUNT)}:{way}")


def _in_batches(chance: random.Random) -> LifePlan:
    *survived, last = sorted(chance.uniform(0, BATCH_SECONDS) for _ in range(1 + chance.randint(1, _MOST_SURVIVED)))
    return LifePlan((*(_kill(chance, moment, _SURVIVED) for moment in survived), _kill(chance, last, _FATAL)))


def _kill(chance: random.Random, moment: float, victims: tuple[Victim, ...]) -> Kill:
    return Kill(moment, chance.choice(victims), chance.random())
