"""Over: each row with what is computed from the rows around it in its partition; Flink's OverAggregate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.definitions import declare_columns, declare_values
from millstream.plan.operators.node import Demand, Node, OutputColumn, SortColumn, Unary

if TYPE_CHECKING:
    from datetime import timedelta

    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import UpsertKey
    from millstream.source import Span
    from millstream.sql.types import DataType

SHIFTS: Final = ("LAG", "LEAD")
_LOOKS_AHEAD: Final = frozenset({"LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"})


class OverOrder(StrEnum):
    """Whether a result is final as soon as its row has come."""

    EVENT_TIME = "event time"
    """It is when the watermark has passed the row; rows come out then, once."""
    PROCESSING_TIME = "processing time"
    """It is at once: all other rows come later."""
    OTHER = "other"
    """It is not: a row may come between others, or go. Results are updated."""


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """The rows from so many before a row, or milliseconds, to so many behind it; None is all of them."""

    by_time: bool = True
    """RANGE, where rows at one place in the order are in each other's frames; otherwise ROWS."""
    preceding: int | None = None
    following: int | None = 0

    def __str__(self) -> str:
        unit = "ms " if self.by_time else ""
        start, end = (
            "UNBOUNDED " + word if count is None else "CURRENT ROW" if count == 0 else f"{count} {unit}{word}"
            for count, word in ((self.preceding, "PRECEDING"), (self.following, "FOLLOWING"))
        )
        return f"{'RANGE' if self.by_time else 'ROWS'} BETWEEN {start} AND {end}"


@dataclass(frozen=True, slots=True)
class OverCall:
    """`name` is the column that holds the result; `argument` a column of the input."""

    name: str
    function: str
    """The name of a record in `millstream.aggregates`, or of a function that is computed over windows only."""
    type: DataType
    argument: str | None = None
    distinct: bool = False
    parameters: tuple[str, ...] = ()
    """Constants after the argument; for LAG and LEAD the number of rows."""
    filter: str | None = None
    """A condition, as a column of the input."""
    default: str | None = None
    """What LAG and LEAD give where there is no row, as a column of the input."""
    frame: WindowFrame | None = None
    """Of an aggregate."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for name in (self.argument, self.filter, self.default) if name is not None)

    @property
    def looks_ahead(self) -> bool:
        """Whether rows behind a row change its result."""
        return self.function in _LOOKS_AHEAD or (self.frame is not None and self.frame.following != 0)

    def __str__(self) -> str:
        constants = [f"'{constant}'" if self.frame is not None else constant for constant in self.parameters]
        arguments = [part for part in (self.argument, *constants, self.default) if part is not None]
        distinct = "DISTINCT " if self.distinct else ""
        condition = f" FILTER (WHERE {self.filter})" if self.filter is not None else ""
        frame = f" {self.frame}" if self.frame not in (None, WindowFrame()) else ""
        listed = "" if self.function.endswith(")") else f"({distinct}{', '.join(arguments)})"
        return f"{self.function}{listed}{condition}{frame} AS {self.name}"


@dataclass(frozen=True, slots=True)
class Over(Unary):
    input: Node
    keys: tuple[str, ...]
    order: tuple[SortColumn, ...]
    calls: tuple[OverCall, ...]
    span: Span
    by_arrival: bool = False
    """Whether rows are ordered as they arrive, by no column."""
    repeats: bool = False
    """Whether rows of a partition that a batch reached are given again: state has a TTL, and that above lives on it."""
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return (*self.input.columns, *(OutputColumn(call.name, call.type) for call in self.calls))

    @property
    def ordered_by(self) -> OverOrder:
        """By arrival: whether the input has an order of arrival is checked by a rule."""
        if self.by_arrival:
            return OverOrder.PROCESSING_TIME
        if len(self.order) != 1 or self.order[0].descending or any(call.looks_ahead for call in self.calls):
            return OverOrder.OTHER
        name = self.order[0].name
        if name in self.input.proctimes:
            return OverOrder.PROCESSING_TIME
        return OverOrder.EVENT_TIME if name in self.input.rowtimes and self.reads_inserts else OverOrder.OTHER

    @property
    def reads_inserts(self) -> bool:
        return self.input.changelog == INSERT_ONLY

    @property
    def is_final(self) -> bool:
        return self.ordered_by is not OverOrder.OTHER

    @property
    def changelog(self) -> ChangelogMode:
        """Where results are updated, both images are at hand."""
        return INSERT_ONLY if self.is_final else frozenset(RowKind)

    @property
    def is_insert_only(self) -> bool:
        return self.is_final

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """Without the partition in it, the old row of a key may leave one task after the new one another."""
        return tuple(key for key in self.input.upsert_keys if set(key) >= set(self.keys))

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes if self.is_final else frozenset()

    @property
    def needs_time(self) -> bool:
        return self.ordered_by is OverOrder.EVENT_TIME

    @property
    def label(self) -> str:
        order = "arrival" if self.by_arrival else ", ".join(map(str, self.order))
        kind = " by event time" if self.needs_time else ""
        calls = ", ".join(map(str, self.calls))
        return f"Over(keys=[{', '.join(self.keys)}], order=[{order}{kind}], calls=[{calls}])"

    @property
    def keeps_state(self) -> bool:
        return True

    def keeps_all_rows(self, ttl: timedelta) -> bool:
        return not ttl and not self.is_final and self.input.is_insert_only and not self.input.upsert_keys

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def compared_columns(self) -> tuple[str, ...]:
        if not self.is_final:
            return tuple(column.name for column in self.input.columns)
        distinct = (call.argument for call in self.calls if call.distinct and call.argument is not None)
        return tuple(dict.fromkeys((*self.keys, *distinct)))

    def declare_state(self) -> dict[str, object] | None:
        return {
            "columns": declare_columns(self.input),
            "keys": list(self.keys),
            "order": [str(column) for column in self.order],
            "time": str(self.ordered_by),
            "calls": [self._declare_call(call) for call in self.calls],
        }

    def _declare_call(self, call: OverCall) -> dict[str, object]:
        parts = {"argument": call.argument, "filter": call.filter, "default": call.default}
        defined = {part: declare_values(self.input, [name])[0] for part, name in parts.items() if name is not None}
        frame = {"frame": str(call.frame)} if call.frame is not None else {}
        distinct = {"distinct": "DISTINCT"} if call.distinct else {}
        parameters = {"parameters": ", ".join(call.parameters)} if call.parameters else {}
        return {"function": call.function, **distinct, **defined, **parameters, **frame}

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        read = replace(self, calls=tuple(call for call in self.calls if call.name in needed) or self.calls[:1])
        # Whether a watermark is needed has been decided before.
        calls = read.calls if read.ordered_by is self.ordered_by else self.calls
        wanted = frozenset(column.name for column in self.input.columns if column.name in needed)
        wanted |= {
            *self.keys,
            *(column.name for column in self.order),
            *(name for call in calls for name in call.inputs),
        }
        # Arrow does not count rows without columns.
        return replace(self, calls=calls), (wanted or frozenset({self.input.columns[0].name}),)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """In order of time each row is an event: one that is given again would be another."""
        return (replace(above, needs_before=True, keeps_state=not self.is_final),)

    def settle(self, above: Demand) -> Self:
        return replace(self, repeats=above.state_expires and above.keeps_state and not self.is_final)

    @property
    def noun(self) -> str:
        return "OVER that looks ahead, or is not ordered by a time attribute alone,"

    @property
    def updater(self) -> str:
        return "OVER that looks ahead, or is not ordered by a time attribute alone,"

    @property
    def key_advice(self) -> str:
        return "Select a key of the input that contains the columns of PARTITION BY."
