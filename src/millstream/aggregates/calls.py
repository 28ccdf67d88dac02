"""One aggregate of a query, and the rows it is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

OLD: Final = "__old"
"""Prefix of a group's columns as they were before the batch."""


@dataclass(frozen=True, slots=True)
class Call:
    """`output` is the column of the result, `function` the name of a record, `argument` the column of the input.

    Rows count where `filter`, a boolean column, is true; None takes all rows.
    """

    output: str
    function: str
    argument: str | None = None
    distinct: bool = False
    filter: str | None = None
    parameters: tuple[str, ...] = ()
    """Constants after the argument, e.g. the separator of LISTAGG; those left out have the function's defaults."""

    def column(self, part: str) -> str:
        """A column of the group's row that belongs to this call."""
        return f"__{part}_{self.output}"


@dataclass(frozen=True, slots=True)
class Input:
    """Rows of a group as an accumulator sees them: `value` is NULL where the row does not count."""

    value: pl.Expr
    sign: pl.Expr | None
    """1 for a row that comes, -1 for one that goes; None where all come."""
    order: pl.Expr | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """The values that are stored for a group: in order of arrival if the function needs that, else by size."""

    value: pl.Expr
    count: pl.Expr
    """How often the value is there; 1 with DISTINCT."""
