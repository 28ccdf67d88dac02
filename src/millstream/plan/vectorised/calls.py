"""What the form of a function gets to see of a call, and how it says that it has none for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.plan.vectorised.conversions import coerce
from millstream.plan.vectorised.obstacles import NotVectorisedError
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.vectorised.evaluators import Evaluator
    from millstream.sql.functions import Given
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class VectorCall:
    """One call to be evaluated on Arrow data: its arguments, and what is known about them."""

    name: str
    arguments: tuple[Evaluator | None, ...]
    """None for a bare word or an interval."""
    given: Given
    result: DataType

    def __len__(self) -> int:
        return len(self.arguments)

    def __getitem__(self, index: int) -> Evaluator:
        if self.given.types[index].root is TypeRoot.NULL:
            raise self.obstacle("of NULL")
        return self._argument(index)

    def as_type(self, index: int, type_: DataType) -> Evaluator:
        return coerce(self._argument(index), self.given.types[index], type_)

    def _argument(self, index: int) -> Evaluator:
        found = self.arguments[index]
        if found is None:
            raise self.obstacle("of an interval")
        return found

    def literal(self, index: int) -> object:
        """The value of an argument that only has a form if it is a literal other than NULL."""
        value = self.given.values[index]
        if value is None:
            raise self.obstacle("with such an argument")
        return value

    def text(self, index: int) -> str:
        value = self.literal(index)
        assert isinstance(value, str)
        return value

    def filled_text(self, index: int) -> str:
        """A literal text that is not empty."""
        if not self.text(index):
            raise self.obstacle("with such an argument")
        return self.text(index)

    def natural(self, index: int) -> int:
        """A literal integer from zero on that is an INT."""
        value = self.literal(index)
        if not isinstance(value, int) or not 0 <= value < 1 << 31:
            raise self.obstacle("with such an argument")
        return value

    def obstacle(self, when: str = "") -> NotVectorisedError:
        return NotVectorisedError(f"{self.name} {when}".strip())


if TYPE_CHECKING:
    VectorForm = Callable[[VectorCall], Evaluator]
