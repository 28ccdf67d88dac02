"""Reduces messages that reveal a problem to smaller ones that still do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.tables import Message

S = TypeVar("S", list["tuple[bytes | None, bytes | None]"], bytes)


class Shrinking:
    def __init__(self, shows_it: Callable[[list[Message]], bool], attempts: int) -> None:
        self._shows_it = shows_it
        self._left = attempts

    def smallest(self, messages: list[Message]) -> list[Message]:
        messages = self._shorter(messages, lambda fewer: fewer, reserve=self._left // 2)
        if len(messages) != 1:
            return messages
        [(key, value)] = messages
        if key is not None and self._try([(None, value)]):
            key = None
        if value is not None:
            value = self._shorter(value, lambda content: [(key, content)], reserve=self._left // 3 if key else 0)
        if key is not None:
            key = self._shorter(key, lambda content: [(content, value)])
        return [(key, value)]

    def _shorter(self, content: S, messages_of: Callable[[S], list[Message]], reserve: int = 0) -> S:
        """Without half of it, a quarter, and so on, at every position."""
        size = len(content) // 2
        while size and self._left > reserve:
            at = 0
            while at < len(content) and self._left > reserve:
                shorter = content[:at] + content[at + size :]
                if self._try(messages_of(shorter)):
                    content = shorter
                else:
                    at += size
            size //= 2
        return content

    def _try(self, messages: list[Message]) -> bool:
        self._left -= 1
        return bool(messages) and self._shows_it(messages)
