"""Inner joins of tables: conditions are sorted by the tables that they speak of.

ON and WHERE mean the same to an inner join. A condition on one table filters it before it is joined, an equality of
two becomes a key, and the others filter the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from millstream.plan.casts import keeps_apart
from millstream.plan.conditions import all_of
from millstream.plan.definitions import declare_values
from millstream.plan.functions.comparison import comparison_type
from millstream.plan.functions.registry import RANDOM_FUNCTIONS
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.join import Join
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.scope import ScopeColumn
from millstream.plan.typed import Call, Conversion, InputColumn, Word, columns_in, functions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import timedelta

    from millstream.plan.operators.node import Node
    from millstream.plan.typed import Typed
    from millstream.source import Span
    from millstream.sql.types import DataType

_KEY: Final = "$key"


@dataclass(frozen=True, slots=True)
class Relation:
    """One of the tables and queries after FROM, under the name that its columns can be qualified with."""

    qualifier: str
    node: Node
    span: Span
    names: tuple[ColumnName, ...] = ()
    """What its columns are called in the query, if not as in the node and with its qualifier."""
    state_ttl: timedelta | None = None
    """How long a hint lets a join keep its rows."""

    @property
    def column_names(self) -> tuple[ColumnName, ...]:
        return self.names or tuple(ColumnName(self.qualifier, column.name) for column in self.node.columns)

    @property
    def qualifiers(self) -> frozenset[str]:
        return frozenset({self.qualifier, *(name.qualifier for name in self.names)})

    def in_scope(self, called: Mapping[str, str], merged: frozenset[str] = frozenset()) -> tuple[ScopeColumn, ...]:
        """Its columns, which the step below calls as `called` says, with those that USING has merged."""
        pairs = zip(self.column_names, self.node.columns, strict=True)
        return tuple(
            ScopeColumn(name.qualifier, name.name, column.type, called[column.name], name.name in merged)
            for name, column in pairs
        )


@dataclass(frozen=True, slots=True)
class ColumnName:
    """What a query calls a column; a relation may have columns that stand elsewhere in FROM, under another name."""

    qualifier: str
    name: str
    place: tuple[int, int] | None = None
    """How many tables stand before it in FROM, and which of what is unnested there it is; None is with its relation."""


@dataclass(frozen=True, slots=True)
class Condition:
    expression: Typed
    span: Span


def with_unique_names(relations: Sequence[Relation]) -> tuple[list[Relation], list[dict[str, str]]]:
    """The relations with no column name twice among them, and per relation what its columns are called now."""
    taken: set[str] = set()
    found, names = [], []
    for relation in relations:
        renamed: dict[str, str] = {}
        for column in relation.node.columns:
            renamed[column.name] = _free(column.name, taken, relation)
            taken.add(renamed[column.name])
        found.append(replace(relation, node=_rename(relation.node, renamed, relation.span)))
        names.append(renamed)
    return found, names


def in_order_of_from(
    relations: Sequence[Relation], own: Sequence[Sequence[ScopeColumn]], columns: Sequence[ScopeColumn]
) -> tuple[ScopeColumn, ...]:
    """The columns as `*` lists them; `own` are those of each relation. What USING has made stands before the next."""
    places = {
        column.reference: name.place or (number, 0)
        for number, (relation, known) in enumerate(zip(relations, own, strict=True), 1)
        for name, column in zip(relation.column_names, known, strict=True)
    }
    ahead, at = [], (len(relations) + 1, 0)
    for column in reversed(columns):
        at = places.get(column.reference, at)
        ahead.append(at)
    placed = sorted(zip(reversed(ahead), columns, strict=True), key=lambda each: each[0])
    return tuple(column for _, column in placed)


def _free(name: str, taken: set[str], relation: Relation) -> str:
    own = {column.name for column in relation.node.columns} - {name}
    candidates = chain([name], (f"{name}{number}" for number in count()))
    return next(candidate for candidate in candidates if candidate not in taken and candidate not in own)


def _rename(node: Node, names: Mapping[str, str], span: Span) -> Node:
    if all(name == now for name, now in names.items()):
        return node
    columns = node.columns
    items = (ProjectItem(names[column.name], InputColumn(column.name, column.type), column.type) for column in columns)
    return Project(node, tuple(items), span)


def join_all(relations: Sequence[Relation], conditions: Sequence[Condition]) -> Node:
    """From the left to the right; their columns have names of their own.

    A relation that has no equality with those before it waits for one that it has an equality with; if there is none,
    each of its rows meets all others.
    """
    left = list(conditions)
    first, *waiting = relations
    node, ttl = _filter(first.node, left), first.state_ttl
    while waiting:
        has_key = (each for each in waiting if any(_is_key(node, each.node, one) for one in left))
        relation = next(has_key, waiting[0])
        waiting.remove(relation)
        own = _filter(relation.node, left)
        keys = _take(left, partial(_is_key, node, own))
        # A key that loses something in a cast brings more rows together than are equal: the condition itself decides.
        left += [condition for condition in keys if loses_in_cast(condition.expression)]
        pairs = [equality_of(condition.expression, node, own) for condition in keys]
        joined = join_on(node, own, [pair for pair in pairs if pair is not None], relation.span)
        node = _filter(replace(joined, left_ttl=ttl, right_ttl=relation.state_ttl), left)
        ttl = None  # of what is joined already, no hint speaks
    return _filter(node, left, with_random=True)


def is_about(condition: Condition, relations: Sequence[Relation]) -> bool:
    """Whether a condition can be decided by rows of these relations, at any time."""
    names = {column.name for relation in relations for column in relation.node.columns}
    return columns_in(condition.expression) <= names and not _is_random(condition)


def _is_random(condition: Condition) -> bool:
    return not functions_in(condition.expression).isdisjoint(RANDOM_FUNCTIONS)


def _take(conditions: list[Condition], wanted: Callable[[Condition], bool]) -> list[Condition]:
    taken = [condition for condition in conditions if wanted(condition)]
    conditions[:] = [condition for condition in conditions if condition not in taken]
    return taken


def loses_in_cast(equality: Typed) -> bool:
    assert isinstance(equality, Call)
    types = [argument.type for argument in equality.arguments if not isinstance(argument, Word)]
    return not all(keeps_apart(type_, comparison_type(types)) for type_ in types)


def _filter(node: Node, conditions: list[Condition], *, with_random: bool = False) -> Node:
    """The rows that pass all conditions that speak of them alone; what is random is drawn for each pair."""
    names = {column.name for column in node.columns}

    def is_own(condition: Condition) -> bool:
        return columns_in(condition.expression) <= names and (with_random or not _is_random(condition))

    own = _take(conditions, is_own)
    if not own:
        return node
    return Filter(node, all_of(condition.expression for condition in own), own[0].span)


def _is_key(left: Node, right: Node, condition: Condition) -> bool:
    return equality_of(condition.expression, left, right) is not None


def equality_of(expression: Typed, left: Node, right: Node) -> tuple[Typed, Typed] | None:
    """What is compared of the left side and of the right, where the condition is their equality."""
    if not isinstance(expression, Call) or expression.function.name != "=":
        return None
    one, other = expression.arguments
    for first, second in ((one, other), (other, one)):
        if _is_of(first, left) and _is_of(second, right):  # type: ignore[arg-type]
            return first, second  # type: ignore[return-value]
    return None


def _is_of(expression: Typed, node: Node) -> bool:
    names = columns_in(expression)
    return bool(names) and names <= {column.name for column in node.columns}


def join_on(left: Node, right: Node, pairs: Sequence[tuple[Typed, Typed]], span: Span) -> Join:
    return Join(*with_keys(left, right, pairs, span), (*left.columns, *right.columns), span)


def with_keys(
    left: Node, right: Node, pairs: Sequence[tuple[Typed, Typed]], span: Span
) -> tuple[Node, Node, tuple[str, ...], tuple[str, ...]]:
    """Both sides and their keys: computed for the join, where it is no column of a side as it is."""
    taken = {column.name for column in (*left.columns, *right.columns)}
    names = (name for number in count() if (name := f"{_KEY}{number}") not in taken)
    lefts: list[ProjectItem] = []
    rights: list[ProjectItem] = []
    for pair in pairs:
        type_ = comparison_type([part.type for part in pair])
        lefts.append(_key_item(pair[0], type_, next(names), lefts))
        rights.append(_key_item(pair[1], type_, next(names), rights))
    node = _with_keys(left, lefts, span), _with_keys(right, rights, span)
    left_keys, right_keys = _in_canonical_order(*node, lefts, rights)
    return *node, left_keys, right_keys


def _in_canonical_order(
    left: Node, right: Node, lefts: Sequence[ProjectItem], rights: Sequence[ProjectItem]
) -> Iterable[tuple[str, ...]]:
    """The keys of both sides by what they are computed from: state is the same in any order ON has them."""
    pairs = [(one.name, other.name) for one, other in zip(lefts, rights, strict=True)]
    if not pairs:
        return (), ()
    sides = (declare_values(node, names) for node, names in zip((left, right), zip(*pairs, strict=True), strict=True))
    texts = zip(*sides, strict=True)
    return zip(*(pair for _, pair in sorted(zip(texts, pairs, strict=True))), strict=True)


def _key_item(expression: Typed, type_: DataType, name: str, others: Sequence[ProjectItem]) -> ProjectItem:
    """A column of the side as it is, or one that is computed for the join."""
    is_same = expression.type.not_null() == type_.not_null()
    if isinstance(expression, InputColumn) and is_same and all(key.name != expression.name for key in others):
        return ProjectItem(expression.name, expression, expression.type)
    wanted = replace(type_, nullable=expression.type.nullable)
    return ProjectItem(name, expression if is_same else Conversion(expression, wanted, attempt=False), wanted)


def _with_keys(node: Node, keys: Sequence[ProjectItem], span: Span) -> Node:
    names = {column.name for column in node.columns}
    added = [key for key in keys if key.name not in names]
    if not added:
        return node
    return replace(own := Project.of_columns(node, node.columns, span), items=(*own.items, *added))
