"""Join: pairs of rows of two inputs whose keys are equal, and the rows that have no partner or have one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Final, Self

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.join_kinds import JoinKind
from millstream.plan.definitions import declare_condition, declare_values
from millstream.plan.operators.node import Binary, Demand, Node, OutputColumn, ttl_text
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import columns_in
from millstream.sql.types import NESTED, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta

    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import UpsertKey
    from millstream.plan.typed import Typed
    from millstream.source import Span

    Pair = tuple[str, str]


_MOST_KEYS: Final = 16
"""Each pair of the join key triples their number."""
_EQUAL_IN_SEVERAL_FORMS: Final = NESTED | {TypeRoot.FLOAT, TypeRoot.DOUBLE}
"""Types of which two equal values may be two keys of a sink: 0 and -0."""


@dataclass(frozen=True, slots=True)
class Join(Binary):
    """The inputs have columns of different names; keys are paired by their places. Without keys, each row meets all."""

    left: Node
    right: Node
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    output: tuple[OutputColumn, ...]
    """The columns that somebody above needs: a side keeps these and its key."""
    span: Span
    kind: JoinKind = JoinKind.INNER
    condition: Typed | None = None
    """What partners must satisfy beside the equalities; for an inner join, a filter above it does that."""
    left_ttl: timedelta | None = None
    right_ttl: timedelta | None = None
    """How long a hint lets a side's rows live; None is as long as other state."""
    mark: str | None = None
    """The column that says whether a row has a partner, of a join that gives all rows of the left side with that."""
    id: str = ""

    @property
    def left_columns(self) -> tuple[str, ...]:
        return self._columns_of(self.left, self.left_keys)

    @property
    def right_columns(self) -> tuple[str, ...]:
        return self._columns_of(self.right, self.right_keys)

    def _columns_of(self, side: Node, keys: tuple[str, ...]) -> tuple[str, ...]:
        needed = {*keys, *(column.name for column in self.output), *self._condition_columns}
        return tuple(column.name for column in side.columns if column.name in needed)

    @property
    def _condition_columns(self) -> frozenset[str]:
        return frozenset() if self.condition is None else columns_in(self.condition)

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return () if self.condition is None else (self.condition,)

    @property
    def changelog(self) -> ChangelogMode:
        """An update of one side retracts pairs and makes others, which need not be as many."""
        return INSERT_ONLY if self.is_insert_only else frozenset({RowKind.INSERT, RowKind.DELETE})

    @property
    def is_insert_only(self) -> bool:
        """A row that is given again to keep state alive retracts its pairs and gives them again.

        Where rows without a partner are given, they are retracted when they find one.
        """
        return not self._keeps_rows and self.left.changelog == self.right.changelog == INSERT_ONLY

    @property
    def _keeps_rows(self) -> bool:
        return self.kind.keeps_left or self.kind.keeps_right

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """The keys of both sides, if they have the join key among them; of two equal columns, one is enough.

        Else the pairs of one upsert key move between join keys, and so between tasks, where their order is lost.
        Where one side is kept, it is that side's column which decides about the task, unless that is NULL.
        """
        if self.is_insert_only or (self.kind.keeps_left and self.kind.keeps_right) or self._spreads_rows:
            return ()
        pairs = tuple(zip(self.left_keys, self.right_keys, strict=True))
        if not self.kind.gives_pairs:
            return tuple(key for key in self.left.upsert_keys if {*self.left_keys} <= {*key})
        both = ((*left, *right) for left, right in product(self.left.upsert_keys, self.right.upsert_keys))
        complete = (key for key in both if all(not {*pair}.isdisjoint(key) for pair in pairs))
        return tuple(dict.fromkeys(islice(chain(*(self._equal_keys(key, pairs) for key in complete)), _MOST_KEYS)))

    @property
    def _spreads_rows(self) -> bool:
        """Whether rows of one upsert key may be in several tasks, because their join key has a NULL."""
        left = [(self.left, key) for key in self.left_keys if self.kind.keeps_left]
        right = [(self.right, key) for key in self.right_keys if self.kind.keeps_right]
        return any(side.column_types()[key].nullable for side, key in (*left, *right))

    def _equal_keys(self, key: UpsertKey, pairs: Sequence[Pair]) -> Iterator[UpsertKey]:
        """The key, with the columns of one side alone, and with other choices of one column of each pair."""
        names = {column.name for column in self.output}
        forms = [[form for form in self._forms(pair, key) if names.issuperset(form)] for pair in pairs]
        if not all(forms) or not names.issuperset({*key}.difference(*pairs)):
            return
        if not pairs:
            yield key
            return
        alike = (tuple(each[min(place, len(each) - 1)] for each in forms) for place in range(max(map(len, forms))))
        for chosen in chain(alike, product(*forms)):
            instead = {name: form[0] for pair, form in zip(pairs, chosen, strict=True) for name in {*pair} - {*form}}
            yield tuple(dict.fromkeys(instead.get(name, name) for name in key))

    def _forms(self, pair: Pair, key: UpsertKey) -> Iterable[tuple[str, ...]]:
        """Which of two equal columns the key may have: those that it has, or either."""
        own = tuple(name for name in pair if name in key)
        is_exact = self.left.column_types()[pair[0]].root not in _EQUAL_IN_SEVERAL_FORMS
        if not self._keeps_rows:
            return dict.fromkeys((own, pair[:1], pair[1:])) if is_exact else (own,)
        kept = pair[0] if self.kind.keeps_left else pair[1]
        return ((kept,),) if is_exact else (own,) * (kept in own)

    @property
    def label(self) -> str:
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        keys = ", ".join(f"{left} = {right}" for left, right in pairs)
        condition = "" if self.condition is None else f", condition=[{sql_text(self.condition)}]"
        return f"Join(type=[{self.kind}], keys=[{keys}]{condition}{self._hinted})"

    def describe_layout(self, has_kinds: Sequence[bool]) -> str:
        """For example `left appended; right counted, unique by [id]`."""
        sides = zip(("left", "right"), self.inputs, has_kinds, strict=True)
        return "; ".join(f"{name} {self._layout_of(name, side, kinds)}" for name, side, kinds in sides)

    def _layout_of(self, name: str, side: Node, has_kinds: bool) -> str:  # noqa: FBT001
        asks = self.kind.keeps_left or self.kind is JoinKind.SEMI if name == "left" else self.kind.keeps_right
        if self.condition is None and not self.kind.gives_pairs and name == "right":
            return "counted by key"
        has_partners = self.condition is not None and asks
        how = "counted with partners" if has_partners else "counted" if has_kinds else "appended"
        key = min(side.upsert_keys, key=len, default=None)
        return how if key is None else f"{how}, unique by [{', '.join(key)}]"

    @property
    def _hinted(self) -> str:
        sides = zip(("left", "right"), self.hinted_ttls, strict=True)
        ttls = [f"{side} {ttl_text(ttl)}" for side, ttl in sides if ttl is not None]
        return f", ttl=[{', '.join(ttls)}]" if ttls else ""

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def hinted_ttls(self) -> tuple[timedelta | None, ...]:
        return (self.left_ttl, self.right_ttl)

    def keeps_all_rows(self, ttl: timedelta) -> bool:
        stored = self.inputs if self.kind.gives_pairs or self.condition is not None else (self.left,)
        return any(
            side.is_insert_only and not side.upsert_keys and not (ttl if hinted is None else hinted)
            for side, hinted in zip(stored, self.hinted_ttls, strict=False)
        )

    @property
    def runs_in_one_task(self) -> bool:
        return not self.left_keys

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.left_keys

    def declare_state(self) -> dict[str, object] | None:
        declared: dict[str, object] = {
            "left": declare_values(self.left, self.left_columns),
            "right": declare_values(self.right, self.right_columns),
            "left_keys": declare_values(self.left, self.left_keys),
            "right_keys": declare_values(self.right, self.right_keys),
        }
        if self.kind is not JoinKind.INNER:
            declared["type"] = str(self.kind)
        if self.condition is not None:
            declared["condition"] = declare_condition(self.condition, self.inputs)
        return declared

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        output = tuple(column for column in self.output if column.name in needed)
        names = [frozenset(column.name for column in side.columns) for side in self.inputs]
        given = needed & {column.name for column in output}
        keys = (self.left_keys, self.right_keys)
        read = given | self._condition_columns
        wanted = [(read & side) | set(key) for side, key in zip(names, keys, strict=True)]
        # Rows of which nothing is needed but their number have a column all the same, by which they can be counted.
        first = (frozenset(column.name for column in side.columns[:1]) for side in self.inputs)
        return replace(self, output=output), tuple(own or any_ for own, any_ in zip(wanted, first, strict=True))

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        both = replace(above, needs_before=True, keeps_state=True)
        return (both, both)

    @property
    def key_advice(self) -> str:
        keys = "Select the primary keys of both tables, the columns of the join among them, each as it is"
        return f"{keys}; or RESET the setting: a table without a key has none to select."
