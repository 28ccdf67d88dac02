"""The record of an aggregate function: everything that the plan and the kernels need to know about it.

For an example see `functions/lists.py`. A new function is a module in `functions/` and its tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from millstream.sql.functions import Category, Function

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    import pyarrow as pa

    from millstream.aggregates.accumulators import Accumulator
    from millstream.aggregates.calls import Call, Entries
    from millstream.sql.functions import Signature


class KeepsValues(StrEnum):
    """Whether the individual values of a group are stored. DISTINCT stores them for any function."""

    NEVER = "never"
    FOR_RETRACTIONS = "for retractions"
    """Only if the input has retractions: when the result is retracted, the next value must be found."""
    ALWAYS = "always"


class EntryKind(StrEnum):
    """How the values of a group are stored."""

    SET = "set"
    """Values without their number: enough for DISTINCT if no row is ever retracted."""
    MULTISET = "multiset"
    ARRIVALS = "arrivals"
    PRESENCES = "presences"
    """Distinct values, in order of arrival."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The result is one of the values: the least or greatest, or the one that arrived first or last."""

    greatest: bool
    by_arrival: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    name: str
    signatures: tuple[Signature, ...]
    """Empty for a function that cannot be called by its name: `COUNT(*)`."""
    result_type: Callable[[pa.DataType | None], pa.DataType]
    """The Arrow type of the kernel's result for an argument of this type."""
    accumulator: Callable[[Call, pa.DataType | None], Accumulator] | None = None
    """Columns of the group's row to which a batch is added; None if the result is computed from stored values."""
    leader: Leader | None = None
    reads: Callable[[Call, Entries], pl.Expr] | None = None
    """The result as an aggregation over all stored values of a group, if it needs all of them."""
    of_nothing: list[object] | None = None
    """The result of `reads` for a group without values."""
    widens: Callable[[pa.DataType], pa.DataType] | None = None
    """The type that the argument is cast to before the kernel sees it."""
    keeps_values: KeepsValues = KeepsValues.NEVER
    needs_order: bool = False
    """Whether the result depends on the order of arrival."""
    keeps_nulls: bool = False
    """Whether NULL is a value; all other functions ignore it."""
    defaults: tuple[str, ...] = ()
    """The defaults of constants after the argument."""
    parameters_in_state: bool = False
    """Whether the constants affect the state, and not only the result computed from it."""
    star: str | None = None
    """The function that `NAME(*)` calls."""
    synonyms: tuple[str, ...] = ()
    note: str = ""
    """How it differs from Flink; empty if it does not."""
    written: str | None = None
    """Its syntax, if that is not `NAME(arguments)`."""

    @property
    def declarations(self) -> tuple[Function, ...]:
        """The function as SQL declares it, by each of its names."""
        if not self.signatures:
            return ()
        first = Function(self.name, Category.AGGREGATE, self.signatures, None, note=self.note, written=self.written)
        others = (Function(name, Category.AGGREGATE, self.signatures, None) for name in self.synonyms)
        return (first, *others)

    def complete(self, parameters: tuple[str, ...]) -> tuple[str, ...]:
        """The constants of a call, with defaults for omitted ones."""
        return (*parameters, *self.defaults[len(parameters) :])

    def entry_kind(self, *, distinct: bool, insert_only: bool) -> EntryKind | None:
        """How a call stores individual values, if it does."""
        if self.keeps_values is KeepsValues.FOR_RETRACTIONS and insert_only and not (distinct and self.needs_order):
            return None
        if self.needs_order:
            return EntryKind.PRESENCES if distinct else EntryKind.ARRIVALS
        if distinct:
            return EntryKind.SET if insert_only else EntryKind.MULTISET
        return None if self.keeps_values is KeepsValues.NEVER else EntryKind.MULTISET

    def state_of(
        self,
        argument: str | None,
        *,
        distinct: bool = False,
        condition: str | None = None,
        parameters: tuple[str, ...] = (),
        insert_only: bool = True,
    ) -> tuple[tuple[str, str], ...]:
        """What the state of a call depends on, as pairs of a part and its text; calls that differ in it share no state.

        `argument` and `condition` are the definitions of what is aggregated and of the rows that count.
        """
        kind = self.entry_kind(distinct=distinct, insert_only=insert_only) if argument is not None else None
        parts = (
            ("function", self.name),
            ("distinct", "DISTINCT" if distinct else None),
            ("argument", argument),
            ("filter", condition),
            ("values", kind),
            ("parameters", ", ".join(self.complete(parameters)) if self.parameters_in_state else None),
        )
        return tuple((part, str(text)) for part, text in parts if text is not None)
