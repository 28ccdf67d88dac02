"""The tables after FROM and what joins them, in the order in which they are written.

A comma separates groups of joined tables. Inner joins of all groups and WHERE say the same and are resolved together;
what is up to the last outer join or lookup of a group is one relation among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.join_conditions import conditions_of_join, merged_column
from millstream.plan.resolver.joins import Condition, Relation, in_order_of_from, is_about, join_all, with_unique_names
from millstream.plan.resolver.outer_joins import join_with
from millstream.plan.resolver.scope import Scope, ScopeColumn
from millstream.plan.resolver.temporal_joins import AsOf, join_as_of
from millstream.plan.typed import InputColumn
from millstream.sql.clause_parser import KEYWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from millstream.errors import Problems
    from millstream.plan.operators.node import Node
    from millstream.plan.typed import Typed

KINDS: Final = {
    "": JoinKind.INNER,
    "CROSS": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
}
_MERGED: Final = "$merged"


def written_kind(join: exp.Join) -> str:
    """As ALTERNATIVES names it, without the words that mean nothing; a key of `KINDS` if it is supported."""
    method, side, kind = (str(join.args.get(part) or "").upper() for part in ("method", "side", "kind"))
    left_out = ("OUTER", "INNER") if side else ("INNER",)
    return " ".join(word for word in (method, side, kind) if word and word not in left_out)


@dataclass(frozen=True, slots=True)
class FromClause:
    """The scope of WHERE and SELECT, and the rows below them once the conditions of WHERE are known."""

    scope: Scope
    steps: tuple[_Step, ...]

    def build(self, where: Sequence[Condition]) -> Node:
        left = list(where)
        relations: list[Relation] = []
        conditions: list[Condition] = []
        for group in _groups(self.steps):
            relations += _join_group(group, left, conditions)
        return join_all(relations, [*conditions, *left])


@dataclass(slots=True, eq=False)
class _Step:
    """A relation, and how it is joined to those before it in its group."""

    relation: Relation
    kind: JoinKind
    begins_group: bool
    conditions: list[Condition] = field(default_factory=list)
    merged: list[tuple[str, Typed]] = field(default_factory=list)
    """Columns of USING that are computed from those of both sides, with their names."""
    as_of: AsOf | None = None
    """As of when its rows are joined: what comes later does not change the result."""

    @property
    def keeps_its_place(self) -> bool:
        """Whether it is about all that is joined before it, and nothing else."""
        return self.kind.is_outer or self.as_of is not None


def resolve_from(
    relations: Sequence[Relation],
    joins: Sequence[exp.Join],
    scope_of: Callable[[tuple[ScopeColumn, ...]], Scope],
    problems: Problems,
) -> FromClause:
    """The conditions of all joins; what is wrong with them goes to `problems`."""
    unique, names = with_unique_names(relations)
    steps = [_Step(unique[0], JoinKind.INNER, begins_group=True)]
    for join, relation in zip(joins, unique[1:], strict=True):
        kind = KINDS[written_kind(join)]
        on_its_own = kind is JoinKind.INNER and join.args.get("on") is None and not join.args.get("using")
        is_cross = str(join.args.get("kind") or "").upper() == "CROSS"
        is_lookup = join.this.args.get("version") is not None  # for the rows before it, also behind a comma
        steps.append(_Step(relation, kind, begins_group=on_its_own and not is_cross and not is_lookup))
    columns = [list(relation.in_scope(called)) for relation, called in zip(relations, names, strict=True)]
    places = {
        column.reference: name.place[0]
        for relation, known in zip(relations, columns, strict=True)
        for name, column in zip(relation.column_names, known, strict=True)
        if name.place is not None
    }
    resolving = _Resolving(steps, columns, places, scope_of)
    for number, join in enumerate(joins, 1):
        problems.of(partial(resolving.join, number, join))
    return FromClause(scope_of(in_order_of_from(relations, columns, resolving.columns)), tuple(steps))


class _Resolving:
    """What can be named grows from join to join; columns that a join may fill with NULLs become nullable."""

    def __init__(
        self,
        steps: Sequence[_Step],
        columns: list[list[ScopeColumn]],
        places: dict[str, int],
        scope_of: Callable[[tuple[ScopeColumn, ...]], Scope],
    ) -> None:
        self.columns = list(columns[0])
        self._of_relations = columns
        self._steps = steps
        self._places = places
        """How many tables stand before what is unnested behind its relation."""
        self._scope_of = scope_of
        self._group = 0
        """Where the columns of the group begin."""

    def join(self, number: int, join: exp.Join) -> None:
        step, own = self._steps[number], self._of_relations[number]
        if step.begins_group:
            self._group = len(self.columns)
        begins = self._group if self._keeps_places(number) else 0
        seen, known = self.columns[:begins], self.columns[begins:]
        try:
            if step.kind.is_outer and join.args.get("on") is None and not join.args.get("using"):
                raise ScriptError(_no_condition(step, self._scope_of(()), join))
            before, joined = ([column for column in side if self._is_before(number, column)] for side in (known, own))
            scope = self._scope_of((*before, *joined))
            step.conditions = conditions_of_join(join, scope, step.relation, len(before))
            if (version := join.this.args.get("version")) is not None:
                near = self._scope_of(tuple(before))
                step.as_of = AsOf(near.resolve(version.expression), scope.place(version.expression))
        finally:
            known = _nullable(known) if step.kind.keeps_right else known
            own = _nullable(own) if step.kind.keeps_left else own
            self.columns = [*seen, *known, *own]
        names = [name.name for name in join.args.get("using") or ()]
        if step.kind is JoinKind.FULL:  # each goes before all others: that which comes last on the left goes first
            places = {column.name: place for place, column in reversed([*enumerate(self.columns)])}
            names.sort(key=lambda name: places.get(name, 0), reverse=True)
        for name in names:
            self._merge(name, number, len(self.columns) - len(own))

    def _is_before(self, number: int, column: ScopeColumn) -> bool:
        """Whether it can be named in a join: what is unnested later cannot, though it is beside its relation."""
        return self._places.get(column.reference, 0) <= number

    def _keeps_places(self, number: int) -> bool:
        """Whether there is an outer join in the group of a relation: what it joins cannot wait for other groups."""
        return any(
            step.keeps_its_place for group in _groups(self._steps) if self._steps[number] in group for step in group
        )

    def _merge(self, name: str, number: int, first: int) -> None:
        """Of the two columns of USING, one is hidden; a full join has a third one, with the value of either."""
        step = self._steps[number]
        before = [at for at, column in enumerate(self.columns) if self._is_before(number, column)]
        named = [at for at in before if self.columns[at].name == name and not self.columns[at].is_merged]
        left = [at for at in named if at < first][-1:]
        right = [at for at in named if at >= first]
        hidden = left if step.kind is JoinKind.RIGHT else right
        if step.kind is JoinKind.FULL:
            hidden = left + right
            sides = self.columns[left[0]], self.columns[right[0]]
            taken = {column.reference for columns in self._of_relations for column in columns}
            taken |= {merged for each in self._steps for merged, _ in each.merged}
            reference = next(free for number in count() if (free := f"{_MERGED}{number}") not in taken)
            value = merged_column(*sides, self._scope_of(()))
            step.merged.append((reference, value))
        for at in hidden:
            self.columns[at] = replace(self.columns[at], is_merged=True)
        if step.kind is JoinKind.FULL:
            self.columns.insert(self._group, ScopeColumn("", name, value.type, reference))


def _no_condition(step: _Step, scope: Scope, join: exp.Join) -> Diagnostic:
    keyword = join.meta.get(KEYWORD)
    return Diagnostic(
        Code.SYNTAX,
        f"a {step.kind} join needs ON or USING",
        scope.script.span(*keyword) if keyword else step.relation.span,
        hint="Say which rows belong together, e.g. ON a.id = b.id.",
    )


def _nullable(columns: Sequence[ScopeColumn]) -> list[ScopeColumn]:
    return [replace(column, type=column.type.or_null()) for column in columns]


def _groups(steps: Sequence[_Step]) -> list[list[_Step]]:
    groups: list[list[_Step]] = []
    for step in steps:
        groups += [[]] if step.begins_group else []
        groups[-1].append(step)
    return groups


def _join_group(group: Sequence[_Step], where: list[Condition], conditions: list[Condition]) -> list[Relation]:
    """The relations that remain to be joined; by what goes to `conditions`, and what filters early leaves `where`."""
    fixed = [number for number, step in enumerate(group) if step.keeps_its_place]
    last = fixed[-1] + 1 if fixed else 0
    before, after = group[:last], group[last:]
    conditions += [condition for step in after for condition in step.conditions]
    rest = [step.relation for step in after]
    return [_join_in_order(before, where), *rest] if before else rest


def _join_in_order(steps: Sequence[_Step], where: list[Condition]) -> Relation:
    """Up to an outer join or a lookup, inner joins are resolved together; what they give is its left side."""
    block, on = [steps[0].relation], list[Condition]()
    keeps_all = all(step.kind in (JoinKind.INNER, JoinKind.LEFT) for step in steps)
    for step in steps[1:]:
        if not step.keeps_its_place:
            block.append(step.relation)
            on += step.conditions
            continue
        if keeps_all:  # what WHERE says of the rows that are kept is as true before they are joined
            early = [each for each in where if is_about(each, block)]
            where[:] = [each for each in where if each not in early]
            on += early
        left = join_all(block, on)
        if step.as_of is None:
            ttls = (block[0].state_ttl if len(block) == 1 else None, step.relation.state_ttl)
            joined = join_with(step.kind, left, step.relation, step.conditions)
            node: Node = replace(joined, left_ttl=ttls[0], right_ttl=ttls[1])
        else:
            node = join_as_of(step.kind, left, step.relation, step.conditions, step.as_of)
        block, on = [Relation(step.relation.qualifier, _add_merged(node, step), step.relation.span)], []
    assert len(block) == 1
    return block[0]


def _add_merged(node: Node, step: _Step) -> Node:
    if not step.merged:
        return node
    items = (ProjectItem(column.name, InputColumn(column.name, column.type), column.type) for column in node.columns)
    added = (ProjectItem(name, value, value.type) for name, value in step.merged)
    return Project(node, (*items, *added), step.relation.span)
