"""An aggregate call of a query, and the rows it is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

OLD: Final = "__old"
"""Prefix of a group's columns before the batch."""


@dataclass(frozen=True, slots=True)
class Call:
    """`output` is the column of the result, `function` the name of a record, `argument` the column of the input.

    Rows count if `filter`, a boolean column, is true; None counts all rows.
    """

    output: str
    function: str
    argument: str | None = None
    distinct: bool = False
    filter: str | None = None
    parameters: tuple[str, ...] = ()
    """Constants after the argument, e.g. the separator of LISTAGG; omitted ones have the function's defaults."""

    def column(self, part: str) -> str:
        """A column of the group's row that belongs to this call."""
        return f"__{part}_{self.output}"


@dataclass(frozen=True, slots=True)
class Input:
    """The rows of a group for an accumulator: `value` is NULL if the row does not count."""

    value: pl.Expr
    sign: pl.Expr | None
    """1 for an added row, -1 for a removed one; None if all are added."""
    order: pl.Expr | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """The stored values of a group: in order of arrival if the function needs that, otherwise by size."""

    value: pl.Expr
    count: pl.Expr
    """How often the value occurs; 1 with DISTINCT."""
