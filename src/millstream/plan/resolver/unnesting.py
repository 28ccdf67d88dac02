"""UNNEST and LATERAL TABLE after FROM: they follow the rows of the table whose columns they take.

Their columns are those of an Unnest over that table, before it is joined, under the name that they have in FROM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.unnest import PartKind, Unnest
from millstream.plan.resolver.element_parts import parts_of
from millstream.plan.resolver.expressions import TABLE_FUNCTION
from millstream.plan.resolver.join_conditions import condition_of
from millstream.plan.resolver.joins import ColumnName, Relation
from millstream.plan.resolver.scope import Scope, ScopeColumn
from millstream.plan.typed import InputColumn, columns_in, substitute
from millstream.sql.alternatives import ALTERNATIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.operators.unnest import ElementPart
    from millstream.plan.typed import Typed

_TABLE: Final = "TABLE"
_COLLECTION: Final = "$collection"
_SIDES: Final = {"LEFT": (False, True), "RIGHT": (True, False), "FULL": (True, True)}
"""Whether an outer join may leave out rows of what is before it, and of what it joins."""


@dataclass(frozen=True, slots=True)
class Unnesting:
    """One `UNNEST(…)` or `LATERAL TABLE(f(…))` after FROM."""

    tree: exp.Expr
    join: exp.Join | None
    """None where it comes first."""
    place: tuple[int, int]
    """How many tables stand before it, and which of those behind the same table it is."""

    @property
    def source(self) -> exp.Expr:
        """The call itself."""
        source: exp.Expr = self.tree.this if isinstance(self.tree, exp.Lateral) else self.tree
        return source

    def of_join(self, part: str) -> str:
        return "" if self.join is None else str(self.join.args.get(part) or "").upper()

    @property
    def condition(self) -> exp.Expr | None:
        """That of ON, unless it is TRUE."""
        on = None if self.join is None else self.join.args.get("on")
        return None if isinstance(on, exp.Boolean) and on.this else on

    @property
    def value(self) -> exp.Expr:
        """The collection, or what gives the rows."""
        only: exp.Expr
        [only] = self.source.expressions
        return only

    @property
    def alias(self) -> exp.TableAlias | None:
        return self.tree.args.get("alias")

    @property
    def qualifier(self) -> str:
        return self.alias.name if self.alias is not None else ""

    @property
    def has_ordinality(self) -> bool:
        return bool(self.source.args.get("offset") or self.tree.args.get("ordinality"))

    @property
    def is_left(self) -> bool:
        return self.of_join("side") == "LEFT"

    @property
    def word(self) -> str:
        return "UNNEST" if isinstance(self.source, exp.Unnest) else "LATERAL TABLE"

    def names(self) -> list[str]:
        """The columns as `AS t (a, b)` calls them; sqlglot has the last apart if there is an ordinality."""
        if self.alias is None:
            return []
        written = [*(self.alias.args.get("columns") or ()), self.source.args.get("offset")]
        return [name.name for name in written if isinstance(name, exp.Identifier)]


def is_unnesting(tree: exp.Expr) -> bool:
    """Whether a table after FROM is one of these."""
    return isinstance(tree, exp.Unnest) or (isinstance(tree, exp.Lateral) and _is_call(tree.this))


def _is_call(tree: exp.Expr) -> bool:
    is_table = isinstance(tree, exp.Anonymous) and tree.name.upper() == _TABLE
    return isinstance(tree, exp.Unnest) or (is_table and len(tree.expressions) == 1)


def part_tables(tree: exp.Select) -> tuple[exp.Expr | None, list[exp.Join], list[Unnesting]]:
    """The first table after FROM, if any, the joins with others, and what is unnested among them."""
    from_ = tree.args.get("from_")
    first: exp.Expr | None = from_.this if from_ is not None else None
    joins: list[exp.Join] = []
    found: list[Unnesting] = []
    if first is not None and is_unnesting(first):
        found.append(Unnesting(first, None, (1, 1)))
        first = None
    for join in tree.args.get("joins") or ():
        if is_unnesting(join.this):
            found.append(Unnesting(join.this, join, (len(joins) + 1, len(found) + 1)))
        else:
            joins.append(join)
    return first, joins, found


def unnest_all(
    relations: Sequence[Relation], joins: Sequence[exp.Join], unnestings: Sequence[Unnesting], scope: Scope
) -> list[Relation]:
    """The relations with the elements of their columns beside their own. `scope` has no columns."""
    found = list(relations)
    problems = Problems()
    for each in unnestings:
        changed = problems.of(partial(_unnest, found, joins, each, scope))
        found = changed if changed is not None else found
    problems.raise_all()
    return found


def _may_be_missing(joins: Sequence[exp.Join], number: int) -> list[bool]:
    """Which of so many relations an outer join may have filled with NULLs."""
    missing = [False]
    for join in joins[: number - 1]:
        before, own = _SIDES.get(str(join.args.get("side") or "").upper(), (False, False))
        missing = [*(is_missing or before for is_missing in missing), own]
    return missing


def _unnest(relations: Sequence[Relation], joins: Sequence[exp.Join], each: Unnesting, around: Scope) -> list[Relation]:
    _check_form(each, around)
    if each.qualifier and any(each.qualifier in other.qualifiers for other in relations):
        why, hint = f'"{each.qualifier}" appears twice in FROM', f"Call it something else: {each.word}(…) AS other."
        raise ScriptError(Diagnostic(Code.DUPLICATE_TABLE, why, around.place(each.alias or each.source), hint=hint))
    if not isinstance(each.source, exp.Unnest):
        _check_function(each.value, around)
    value = _scope_of(relations[: each.place[0]], around).resolve(each.value)
    missing = _may_be_missing(joins, each.place[0])
    named = {int(name.partition(" ")[0]) for name in columns_in(value)}
    places = named or {next((number for number, may_be in enumerate(missing) if not may_be), 0)}
    if len(places) > 1:
        raise _refuse(each, f"{each.word} of columns of several tables", around)
    [at] = places
    if at and joins[at - 1].this.args.get("version") is not None:
        raise _refuse(each, f"{each.word} of a table that is looked up", around)
    if missing[at]:
        of_what = "of what an outer join may have filled with NULL" if named else "of no column behind a full join"
        raise _refuse(each, f"{each.word} {of_what}", around)
    return [*relations[:at], _over(relations[at], _below(value), each, around), *relations[at + 1 :]]


def _check_function(call: exp.Expr, scope: Scope) -> None:
    """One that does not exist is reported when the call is resolved."""
    name = call.name.upper() if isinstance(call, exp.Anonymous) else ""
    function = scope.functions.get(name)
    if function is not None and function.gives_rows:
        call.meta[TABLE_FUNCTION] = True
    elif function is not None or name in FUNCTIONS or not name:
        what = f'function "{call.name}" gives one value' if name else "this is no call of a function"
        hint = "Let it yield rows, or unnest the array that it gives: UNNEST(f(…))."
        raise ScriptError(
            Diagnostic(Code.TYPE_MISMATCH, f"{what}, and rows are read here", scope.place(call), hint=hint)
        )


def _check_form(each: Unnesting, scope: Scope) -> None:
    words = [each.of_join(part) for part in ("method", "side", "kind")]
    kind = " ".join(word for word in words if word not in ("", "INNER", "CROSS", "OUTER"))
    if kind not in ("", "LEFT"):
        raise _refuse(each, f"{kind} JOIN {each.word}", scope)
    if each.of_join("using"):
        raise _refuse(each, f"{each.word} with USING", scope)
    if each.is_left and each.condition is not None:
        raise _refuse(each, f"LEFT JOIN {each.word} with another condition than TRUE", scope)
    if len(each.source.expressions) != 1:
        raise _refuse(each, "UNNEST of several collections", scope)


def _scope_of(relations: Sequence[Relation], around: Scope) -> Scope:
    """A column is referred to by the number of its relation and its name there."""
    columns = (
        ScopeColumn(name.qualifier, name.name, column.type, f"{number} {column.name}")
        for number, relation in enumerate(relations)
        for name, column in zip(relation.column_names, relation.node.columns, strict=True)
    )
    return replace(around, columns=tuple(columns))


def _below(value: Typed) -> Typed:
    """The expression over the columns of its relation."""
    return substitute(value, lambda column: InputColumn(column.name.partition(" ")[2], column.type))


def _over(relation: Relation, value: Typed, each: Unnesting, scope: Scope) -> Relation:
    place = scope.place(each.value)
    node, kept = relation.node, tuple(column.name for column in relation.node.columns)
    if isinstance(value, InputColumn):
        collection = value.name
    else:
        collection = _free(_COLLECTION, kept)
        item = ProjectItem(collection, value, value.type)
        node = replace(own := Project.of_columns(node, node.columns, place), items=(*own.items, item))
    parts = parts_of(value.type, with_ordinality=each.has_ordinality, is_left=each.is_left, place=place)
    names = _names_of_parts(parts, each, scope)
    inside: list[str] = []
    for name in names:
        inside += [_free(name, (*kept, *inside, collection))]
    parts = [replace(part, name=name) for part, name in zip(parts, inside, strict=True)]
    unnested = Unnest(node, collection, kept, tuple(parts), each.is_left, place)
    own_names = tuple(ColumnName(each.qualifier, name, each.place) for name in names)
    made = replace(relation, node=unnested, names=(*relation.column_names, *own_names))
    return replace(made, node=_filtered(made, unnested, each, scope))


def _filtered(relation: Relation, node: Node, each: Unnesting, scope: Scope) -> Node:
    """An inner join may have a condition on the row and its element."""
    if each.condition is None:
        return node
    columns = (
        ScopeColumn(name.qualifier, name.name, column.type, column.name)
        for name, column in zip(relation.column_names, node.columns, strict=True)
    )
    condition = condition_of(each.condition, replace(scope, columns=tuple(columns)), "ON")
    return Filter(node, condition, scope.place(each.condition))


def _names_of_parts(parts: Sequence[ElementPart], each: Unnesting, scope: Scope) -> list[str]:
    """`UNNEST(tags) AS tag`: where there is nothing but the element, its column has the name as well."""
    named, default = each.names(), [part.name for part in parts]
    if not named:
        is_named = each.qualifier and [part.kind for part in parts] == [PartKind.ELEMENT]
        return [each.qualifier] if is_named else default
    if len(named) != len(default):
        columns = "1 column" if len(named) == 1 else f"{len(named)} columns"
        raise ScriptError(
            Diagnostic(
                Code.SINK_SCHEMA_MISMATCH,
                f"{each.qualifier} names {columns}, and {each.word} gives {len(default)}",
                scope.place(each.tree),
                detail=f"It gives: {', '.join(default)}.",
            )
        )
    return named


def _free(name: str, taken: Sequence[str]) -> str:
    candidates = chain([name], (f"{name}{number}" for number in count()))
    return next(candidate for candidate in candidates if candidate not in taken)


def _refuse(each: Unnesting, what: str, scope: Scope) -> ScriptError:
    hint = ALTERNATIVES.get(what.replace(each.word, "UNNEST"))
    return ScriptError(
        Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{what} is not supported", scope.place(each.source), hint=hint)
    )
