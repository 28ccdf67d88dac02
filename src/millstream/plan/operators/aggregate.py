"""Aggregate: GROUP BY, and SELECT DISTINCT as a grouping without aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.aggregates.record import KeepsValues
from millstream.aggregates.registry import aggregate_function
from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.definitions import definitions
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.node import Demand, KeyedState, Node, OutputColumn, ttl_text
from millstream.plan.resolver.sql_text import sql_text

if TYPE_CHECKING:
    from datetime import timedelta

    from millstream.changelog import ChangelogMode
    from millstream.source import Span
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`name` is the column that holds the result; `argument` a column of the input."""

    name: str
    function: str
    """The name of a record in `millstream.aggregates`."""
    argument: str | None
    distinct: bool
    type: DataType
    parameters: tuple[str, ...] = ()
    """Constants after the argument, defaults included, e.g. the separator of LISTAGG."""
    filter: str | None = None
    """A condition, as a column of the input, for a function that does not pass over NULL, e.g. ARRAY_AGG."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the input that it reads."""
        return tuple(name for name in (self.argument, self.filter) if name is not None)

    def __str__(self) -> str:
        if self.argument is None:
            return f"COUNT(*) AS {self.name}"
        constants = "".join(f", '{constant}'" for constant in self.parameters)
        condition = f" FILTER (WHERE {self.filter})" if self.filter is not None else ""
        distinct = "DISTINCT " if self.distinct else ""
        return f"{self.function}({distinct}{self.argument}{constants}){condition} AS {self.name}"


class Grouping(KeyedState):
    """Rows grouped by `keys`, and what is computed from each group."""

    __slots__ = ()

    calls: tuple[AggregateCall, ...]

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        types = self.input.column_types()
        keys = tuple(OutputColumn(key, types[key]) for key in self.keys)
        return keys + tuple(OutputColumn(call.name, call.type) for call in self.calls)

    @property
    def label(self) -> str:
        return f"{type(self).__name__}({self._grouping})"

    @property
    def _grouping(self) -> str:
        return f"keys=[{', '.join(self.keys)}], calls=[{', '.join(map(str, self.calls))}]"

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return (*self.keys, *(call.argument for call in self.calls if call.argument is not None))

    def declare_state(self) -> dict[str, object] | None:
        """Without what is only done to results, such as the separator of LISTAGG, and without filters of rows."""
        below = self.input.inputs[0] if isinstance(self.input, Expand) else self.input
        defined = {name: sql_text(expression) for name, expression in definitions(below).items()}
        typed = {name: f"{defined[name]} {type_}" for name, type_ in below.column_types().items()}
        declared: dict[str, object] = {
            "keys": [typed[key] for key in self.keys if key in typed],
            "calls": [self._declare_call(call, typed, defined) for call in self.calls],
        }
        if isinstance(self.input, Expand):
            declared["sets"] = [[typed[key] for key in kept] for kept in self.input.sets]
        return declared

    def _declare_call(self, call: AggregateCall, typed: dict[str, str], defined: dict[str, str]) -> dict[str, str]:
        parts = aggregate_function(call.function).state_of(
            typed[call.argument] if call.argument is not None else None,
            distinct=call.distinct,
            condition=defined[call.filter] if call.filter is not None else None,
            parameters=call.parameters,
            insert_only=self.input.is_insert_only,
        )
        return dict(parts)

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:  # noqa: ARG002
        return self, (frozenset({*self.keys, *(name for call in self.calls for name in call.inputs)}),)


@dataclass(frozen=True, slots=True)
class Aggregate(Grouping):
    input: Node
    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    span: Span
    emits_before: bool = False
    """Whether an update is preceded by the old row, because somebody above needs it."""
    repeats: bool = False
    """Whether a result that did not change is given again: state has a TTL, and that above lives on this."""
    state_ttl: timedelta | None = None
    """How long a hint lets a group live that no row reaches; None is as long as other state."""
    id: str = ""

    @property
    def hinted_ttls(self) -> tuple[timedelta | None, ...]:
        return (self.state_ttl,)

    @property
    def label(self) -> str:
        ttl = "" if self.state_ttl is None else f", ttl=[{ttl_text(self.state_ttl)}]"
        return f"Aggregate({self._grouping}{ttl})"

    @property
    def changelog(self) -> ChangelogMode:
        if self.is_insert_only and not self.repeats:
            return INSERT_ONLY
        updating = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})
        changes = updating if self.input.is_insert_only else updating | {RowKind.DELETE}
        return changes | {RowKind.UPDATE_BEFORE} if self.emits_before else changes

    @property
    def is_insert_only(self) -> bool:
        return not self.calls and self.input.is_insert_only  # SELECT DISTINCT

    @property
    def gives_kinds(self) -> bool:
        """Those of SELECT DISTINCT too: aggregates above keep state for changes, whether or not there is a TTL."""
        return True

    @property
    def keeps_more_for_changes(self) -> bool:
        """Whether its state would be another one if no row were retracted: single values, and not only the result."""
        functions = (aggregate_function(call.function) for call in self.calls)
        depends = any(function.keeps_values is KeepsValues.FOR_RETRACTIONS for function in functions)
        return depends and not self.input.is_insert_only

    def settle(self, above: Demand) -> Self:
        """Rows without duplicates stay inserts, unless state above would expire while this one lives on."""
        repeats = above.state_expires and (above.keeps_state or self.updates)
        settled = replace(self, repeats=repeats)
        return replace(settled, emits_before=above.needs_before and settled.updates)

    @property
    def key_advice(self) -> str:
        if not self.keys:
            return "Add GROUP BY: without it there is one row and no key to write it by."
        if isinstance(self.input, Expand):
            return "Rows of several grouping sets have no key in common: RESET the setting."
        return "Select every column of GROUP BY, each into a primary key column of the same type."
