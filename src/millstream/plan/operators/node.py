"""What every operator of a logical plan says about itself.

A rule asks operators instead of matching on them, so that a new operator is one new module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from millstream.catalog.durations import duration_text
from millstream.changelog import INSERT_ONLY, RowKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import timedelta

    from millstream.changelog import ChangelogMode
    from millstream.plan.typed import Typed
    from millstream.source import Span
    from millstream.sql.types import DataType

    UpsertKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    type: DataType

    def or_null(self) -> OutputColumn:
        return replace(self, type=self.type.or_null())


@dataclass(frozen=True, slots=True)
class SortColumn:
    name: str
    descending: bool = False
    nulls_last: bool = False

    def __str__(self) -> str:
        nulls = "" if self.nulls_last is self.descending else f" NULLS {'LAST' if self.nulls_last else 'FIRST'}"
        return f"{self.name}{' DESC' if self.descending else ''}{nulls}"


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """The columns that say which window a row is in, as a node calls them."""

    start: str
    end: str
    time: str | None
    """Its last moment, if that is a column."""
    declared: str
    """The windows, and the time that they divide, as a checkpoint describes them."""
    is_event_time: bool

    def among(self, names: Collection[str]) -> WindowColumns | None:
        """The same in rows that have only these columns."""
        return self.renamed({name: name for name in names})

    def renamed(self, names: Mapping[str, str]) -> WindowColumns | None:
        """The same in rows that have only these columns, under new names; None if the bounds are not among them."""
        if self.start not in names or self.end not in names:
            return None
        time = None if self.time is None else names.get(self.time)
        return replace(self, start=names[self.start], end=names[self.end], time=time)


@dataclass(frozen=True, slots=True)
class Demand:
    """What the operators above make of an operator's rows."""

    needs_before: bool
    """Somebody wants to see the old row of an update."""
    keeps_state: bool = False
    """An operator above keeps state that is made of these rows."""
    state_expires: bool = False
    """Some state has a TTL."""


class Node(ABC):
    """A frozen step of a plan, with the steps that it reads."""

    __slots__ = ()

    span: Span
    id: str = ""

    @property
    @abstractmethod
    def columns(self) -> tuple[OutputColumn, ...]: ...

    @property
    @abstractmethod
    def changelog(self) -> ChangelogMode:
        """The kinds of change that leave it."""

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """The sets of columns by each of which a later row replaces an earlier one; that to prefer comes first."""
        return ()

    @property
    def upsert_key(self) -> UpsertKey | None:
        return next(iter(self.upsert_keys), None)

    @property
    def sorted_by(self) -> tuple[SortColumn, ...]:
        """The order in which the query asks for its rows, where somebody looks at all of them."""
        return ()

    @property
    @abstractmethod
    def label(self) -> str:
        """Its line in EXPLAIN, without changelog and key."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def with_inputs(self, *inputs: Node) -> Self:
        assert not inputs
        return self

    def with_id(self, id_: str) -> Self:
        return _replace(self, id=id_)

    @property
    def is_insert_only(self) -> bool:
        """Whether no row is ever retracted. A row given again as it was, to keep state above alive, retracts none."""
        return self.changelog == INSERT_ONLY

    @property
    def expressions(self) -> tuple[Typed, ...]:
        """What it computes from the columns of its input."""
        return ()

    @property
    def keeps_state(self) -> bool:
        return False

    @property
    def gives_kinds(self) -> bool:
        """Whether rows that it reads, or makes from state, carry their kind; rows without one are inserts."""
        return self.changelog != INSERT_ONLY

    def describe_layout(self, has_kinds: Sequence[bool]) -> str:  # noqa: ARG002
        """How rows of its inputs are stored, where there are several ways; `has_kinds`: whether they carry a kind."""
        return ""

    @property
    def hinted_ttls(self) -> tuple[timedelta | None, ...]:
        """How long a hint lets state of each input live, 0 for ever; None is as long as the setting says."""
        return ()

    def keeps_all_rows(self, ttl: timedelta) -> bool:  # noqa: ARG002
        """Whether it keeps for ever every row of an input that never takes one back; `ttl` is that of the setting."""
        return False

    @property
    def runs_in_one_task(self) -> bool:
        """Whether all of its rows meet in one task, since there is nothing by which they could be divided."""
        return False

    def declare_state(self) -> dict[str, object] | None:
        """What a checkpoint must agree with to go on with this operator, as data; None where it keeps nothing there."""
        return None

    @property
    def rowtimes(self) -> frozenset[str]:
        """The columns that are event-time attributes: a watermark says how far their times have come."""
        return frozenset()

    @property
    def proctimes(self) -> frozenset[str]:
        """The columns that hold the processing time of a row."""
        held = [(set(below.column_types()), below.proctimes) for below in self.inputs]
        found = {name for _, proctimes in held for name in proctimes}
        wrong = {name for columns, proctimes in held for name in columns - proctimes}
        return frozenset((found - wrong) & set(self.column_types()))

    @property
    def window(self) -> WindowColumns | None:
        """Which window each row is in, where that is known."""
        return None

    @property
    def needs_time(self) -> bool:
        """Whether what it does depends on a watermark, which must then come from below."""
        return False

    @property
    def follows_clock(self) -> bool:
        """Whether it acts as time passes, rows or none."""
        return False

    @property
    def reads_upserts(self) -> tuple[Node, ...]:
        """Inputs whose upserts it puts in order by itself."""
        return ()

    @property
    def looked_up(self) -> tuple[Node, ...]:
        """Tables that it asks for their current rows; unlike the rows of its inputs, these make no batch."""
        return ()

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        """The columns by which rows come to their state."""
        return ()

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """The columns of its input that its state compares: values that SQL considers equal must be identical."""
        return ()

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        """The operator without the columns that nobody above needs, and which ones it needs of each input."""
        return self, tuple(needed for _ in self.inputs)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """What it wants of each of its inputs."""
        return tuple(above for _ in self.inputs)

    def settle(self, above: Demand) -> Self:  # noqa: ARG002
        """The operator told what is wanted of it, after its inputs have been."""
        return self

    @property
    def noun(self) -> str:
        """What it is called in a message."""
        return f"the {type(self).__name__.lower()}"

    @property
    def updater(self) -> str:
        """What it is called in a message about the updates that it makes."""
        return f"The {type(self).__name__.lower()}"

    @property
    def key_advice(self) -> str:
        """How a query over its updates gets an upsert key."""
        return "Select the columns by which its rows are updated."

    @property
    def updates(self) -> bool:
        return RowKind.UPDATE_AFTER in self.changelog

    def column_types(self) -> dict[str, DataType]:
        return {column.name: column.type for column in self.columns}


class Unary(Node):
    """An operator with one input, whose rows it passes on unless it says otherwise."""

    __slots__ = ()

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, *inputs: Node) -> Self:
        [only] = inputs
        return self if only is self.input else _replace(self, input=only)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns

    @property
    def changelog(self) -> ChangelogMode:
        return self.input.changelog

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        return self.input.upsert_keys

    @property
    def is_insert_only(self) -> bool:
        return self.input.is_insert_only


class Binary(Node):
    """An operator with two inputs, and columns that are its own choice."""

    __slots__ = ()

    left: Node
    right: Node
    output: tuple[OutputColumn, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, *inputs: Node) -> Self:
        left, right = inputs
        return _replace(self, left=left, right=right)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.output


class KeyedState(Unary):
    """An operator that keeps rows of its input by a key; its own rows are updated by that key."""

    __slots__ = ()

    keys: tuple[str, ...]

    @property
    def is_insert_only(self) -> bool:
        return False

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        return (self.keys,)

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return self.keys

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return self, (needed | set(self.keys),)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        return (replace(above, needs_before=True, keeps_state=True),)


N = TypeVar("N", bound=Node)


def _replace(node: N, **changes: Any) -> N:
    return replace(node, **changes)  # type: ignore[type-var]


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it; what is read first comes last."""
    ahead = [node]
    while ahead:
        yield (at := ahead.pop())
        ahead += reversed(at.inputs)


def state_ttls(node: Node, ttl: timedelta) -> tuple[timedelta, ...]:
    """How long state of the node and of all below it lives, where not for ever; `ttl` is that of the setting."""
    hinted = {each for below in walk(node) for each in below.hinted_ttls if each is not None}
    return tuple(sorted(each for each in {ttl, *hinted} if each))


def ttl_text(ttl: timedelta) -> str:
    return duration_text(ttl) if ttl else "for ever"


def depth_of(node: Node) -> int:
    """How many operators rows pass at most."""
    deepest, ahead = 0, [(node, 1)]
    while ahead:
        at, depth = ahead.pop()
        deepest = max(deepest, depth)
        ahead += [(below, depth + 1) for below in at.inputs]
    return deepest


def transform(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with each node changed after those below it."""
    return change(node.with_inputs(*(transform(below, change) for below in node.inputs)))
