"""What need not fit in memory: computed a portion at a time, as often as it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
U = TypeVar("U")


class Portions(Generic[T]):
    """At least one. They are computed anew each time, unless there is only one, which is kept."""

    def __init__(self, compute: Callable[[], Iterator[T]]) -> None:
        self._compute = compute
        self._only: list[T] = []

    def __iter__(self) -> Iterator[T]:
        if self._only:
            yield self._only[0]
            return
        portions = self._compute()
        held, is_only = [next(portions)], True
        for portion in portions:
            is_only = False
            yield held.pop()
            held.append(portion)
        if is_only:
            self._only = held
        yield held[0]

    def map(self, change: Callable[[T], U]) -> Portions[U]:
        return Portions(lambda: map(change, self))
