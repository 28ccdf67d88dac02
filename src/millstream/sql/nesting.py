"""Stack space for deep nesting: generated SQL has hundreds of parentheses and thousands of ANDs."""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_DEEPEST: Final = 20_000
_STACK_BYTES: Final = 512 << 20
"""Only the part that is used takes memory."""
_limits = threading.Lock()
_has_room: ContextVar[bool] = ContextVar("has_room", default=False)


class _Outcome(Generic[T]):
    value: T
    error: BaseException | None = None


def with_room(call: Callable[[], T]) -> T:
    """Calls it in a thread with a stack that fits Python's recursion limit, which is raised meanwhile.

    Beyond that limit it raises RecursionError as usual, and never crashes for lack of stack.
    """
    if _has_room.get():
        return call()
    outcome: _Outcome[T] = _Outcome()

    def run() -> None:
        _has_room.set(True)
        try:
            outcome.value = call()
        except BaseException as error:  # noqa: BLE001
            outcome.error = error

    with _limits:
        size, limit = threading.stack_size(_STACK_BYTES), sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEEPEST))
        try:
            thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
            thread.start()
            threading.stack_size(size)
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value
