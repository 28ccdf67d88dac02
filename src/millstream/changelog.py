"""Row kinds: what a row of a changelog does to the table."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class RowKind(IntEnum):
    """The numbers are stored in the `__kind` column."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def symbol(self) -> str:
        return ("+I", "-U", "+U", "-D")[self]

    @property
    def letters(self) -> str:
        """As EXPLAIN writes it."""
        return ("I", "UB", "UA", "D")[self]


KIND: Final = "__kind"

ChangelogMode = frozenset[RowKind]
INSERT_ONLY: Final[ChangelogMode] = frozenset({RowKind.INSERT})
UPSERTS: Final[ChangelogMode] = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE})
"""What a reader by key needs: the old row follows from the key."""
ALL_CHANGES: Final[ChangelogMode] = frozenset(RowKind)


def letters(mode: ChangelogMode) -> str:
    return ",".join(kind.letters for kind in sorted(mode))


def goes_by_key(mode: ChangelogMode) -> bool:
    """Whether a reader of these kinds finds the old row by its key: there are updates, but no old images."""
    return RowKind.UPDATE_AFTER in mode and RowKind.UPDATE_BEFORE not in mode
