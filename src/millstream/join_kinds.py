"""The kinds of joins, and which rows each gives."""

from __future__ import annotations

from enum import StrEnum


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    """The rows of the left side that have a partner, each once."""
    ANTI = "anti"
    """The rows of the left side that have none."""
    MARK = "mark"
    """All rows of the left side, each with whether it has a partner."""

    @property
    def gives_pairs(self) -> bool:
        return self not in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)

    @property
    def keeps_left(self) -> bool:
        """Whether the result has the rows of the left side without a partner, too."""
        return self in (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI, JoinKind.MARK)

    @property
    def keeps_right(self) -> bool:
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def is_outer(self) -> bool:
        """Whether NULLs stand for the columns of a partner that there is not."""
        return self in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
