"""GROUP BY as three steps: compute keys and arguments, aggregate columns, compute the results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.aggregates.registry import aggregate_function
from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.functions.registry import AGGREGATES
from millstream.plan.operators.aggregate import Aggregate, AggregateCall
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.window_aggregate import WindowAggregate
from millstream.plan.resolver.expression_queries import subqueries_in
from millstream.plan.resolver.expressions import infer, resolve
from millstream.plan.resolver.grouping_sets import SET_NUMBER, constant_per_set, grouping_sets, is_grouping, values_of
from millstream.plan.resolver.scope import HIDDEN, WRITTEN, Scope, ScopeColumn, column_reference, output_names
from millstream.sql.expression_parser import call
from millstream.sql.types import BIGINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.expression_queries import ExpressionQuery, Subqueries
    from millstream.plan.typed import Typed
    from millstream.source import Span

_NO_POSITIONS: Final = "A number in GROUP BY is that number, not the position of a column."
_COMPARED: Final = f"{HIDDEN}compared"
OF_STAR: Final = "of_star"
"""Where a column remembers that nobody wrote it: it stands for a part of `*`."""


def has_aggregate(expression: exp.Expr) -> bool:
    """Whether it aggregates the rows of its own query: not over a window, and not inside a sub-query."""
    return any(_is_aggregate(node) for node in expression.walk(prune=_is_apart))


def _is_apart(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window | exp.Query)


@dataclass(frozen=True, slots=True)
class Grouping:
    """What a SELECT with GROUP BY, HAVING or aggregate functions consists of."""

    items: Sequence[exp.Expr]
    group: exp.Group | None = None
    having: exp.Having | None = None


def build_aggregate(node: Node, written: Grouping, scope: Scope, subqueries: Subqueries) -> Node:
    """Sub-queries in GROUP BY and in aggregate functions are joined to the rows, others to the groups."""
    problems = Problems()
    parts = [part for part in (written.group, written.having) if part is not None]
    below = subqueries.take([*written.items, *parts], scope, problems, is_wanted=_is_below)
    grouped = {
        column.name for part in below.trees if isinstance(part, exp.Group) for column in part.find_all(exp.Column)
    }
    above = below.subqueries.only(grouped).take(below.trees, below.scope, problems)
    count = len(written.items)
    clauses = {type(part): part for part in above.trees[count:]}
    taken = Grouping(above.trees[:count], clauses.get(exp.Group), clauses.get(exp.Having))  # type: ignore[arg-type]
    rows = problems.of(lambda: below.join(node))
    found = problems.of(lambda: _Aggregation(rows or node, above.scope, above.queries).build(taken))
    problems.raise_all()
    assert found is not None
    return found


def aggregate_value(
    node: Node, written: Grouping, keys: Sequence[Typed], scope: Scope, subqueries: Subqueries
) -> ValueOfGroup:
    """What a sub-query with an aggregate of all of its rows stands for: `keys` are what it compares around it."""
    problems = Problems()
    parts = [*written.items, *([] if written.having is None else [written.having])]
    taken = subqueries.take(parts, scope, problems, is_wanted=_is_below)
    problems.of(lambda: _refuse_subqueries(taken.trees, scope))
    problems.raise_all()
    rows = problems.of(lambda: taken.join(node))
    found = problems.of(lambda: _Aggregation(rows or node, taken.scope).build_value(*taken.trees, keys=keys))
    problems.raise_all()
    assert found is not None
    return found


def groups_of_each(
    tree: exp.Select, node: Node, keys: Mapping[str, Typed], scope: Scope, subqueries: Subqueries
) -> tuple[Node, tuple[str, ...]]:
    """The groups of a sub-query, apart for each value of `keys`, columns to be; and the columns that it selects."""
    if any(not written for written in grouping_sets(tree.args["group"], scope.place(tree.args["group"]))):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "a group of all rows in a sub-query that speaks of columns around it is not supported yet",
                scope.place(tree.args["group"]),
                hint="Write GROUP BY without ROLLUP, CUBE and ().",
            )
        )
    own = Project.of_columns(node, node.columns, scope.statement)
    below = replace(own, items=(*own.items, *(ProjectItem(name, key, key.type) for name, key in keys.items())))
    added = [ScopeColumn(_COMPARED, name, key.type, name, is_merged=True) for name, key in keys.items()]
    group = tree.args["group"].copy()
    group.set("expressions", [*group.expressions, *map(_hidden_reference, added)])
    items = [item for item in tree.expressions if not isinstance(item, exp.Star)]
    named = (exp.alias_(_hidden_reference(column), column.name, quoted=True) for column in added)
    written = Grouping([*items, *named], group, tree.args.get("having"))
    groups = build_aggregate(below, written, replace(scope, columns=(*scope.columns, *added)), subqueries)
    return groups, tuple(output_names(items))


def _refuse_subqueries(trees: Sequence[exp.Expr], scope: Scope) -> None:
    """Beside groups that may not be there, they would have no value."""
    found = [subquery for tree in trees for subquery in subqueries_in(tree)]
    if found:
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_EXPRESSION,
                "a sub-query beside the aggregate of a sub-query is not supported yet",
                scope.place(subquery),
                hint="Write both in the query around them, and compute with their values there.",
            )
            for subquery in found
        )


@dataclass(frozen=True, slots=True)
class ValueOfGroup:
    groups: Aggregate | WindowAggregate
    keys: tuple[str, ...]
    value: exp.Expr
    """Over the columns of the groups, which are NULL for a group without rows."""


def _is_below(subquery: exp.Expr) -> bool:
    around = subquery.parent
    while around is not None and not (isinstance(around, exp.Group | exp.Filter) or _is_aggregate(around)):
        around = around.parent
    return around is not None


def distinct_rows(node: Node, scope: Scope) -> Node:
    """SELECT DISTINCT: rows grouped by all their columns."""
    return _grouped(node, tuple(column.name for column in node.columns), (), scope.statement)


def _grouped(
    node: Node, keys: tuple[str, ...], calls: tuple[AggregateCall, ...], span: Span
) -> Aggregate | WindowAggregate:
    """Where the start and the end of a window are among the keys, a group is complete when the window has ended."""
    is_windowed = node.window is not None and node.window.among(keys) is not None
    return (WindowAggregate if is_windowed else Aggregate)(node, keys, calls, span)


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in AGGREGATES


class _Aggregation:
    """Gathers what must be computed before the aggregate while the SELECT list is rewritten."""

    def __init__(self, node: Node, scope: Scope, above: Mapping[str, ExpressionQuery] | None = None) -> None:
        """`above` are the sub-queries that are joined to the groups, by the columns that stand for them."""
        self._node = node
        self._scope = scope
        self._above = above or {}
        self._type_of = {**node.column_types(), **{name: query.type for name, query in self._above.items()}}.get
        self._before: dict[str, ProjectItem] = {}
        self._calls: dict[str, AggregateCall] = {}
        self._sets: tuple[tuple[str, ...], ...] = ()
        """The key columns of each grouping set; a plain GROUP BY is one set."""
        self._in_some_sets: frozenset[str] = frozenset()
        """The texts of keys that are NULL in the rows of other sets."""

    def build(self, written: Grouping) -> Node:
        problems = Problems()
        items, group, having = written.items, written.group, written.having
        keys = problems.of(partial(self._keys, group))
        selected = [problems.of(partial(self._select, item, keys)) for item in items]
        condition = problems.of(partial(self._having, having, keys)) if having is not None else None
        problems.raise_all()
        assert keys is not None
        results = zip(output_names(items), (result for result in selected if result is not None), strict=True)
        compared = self._compared_above(keys)
        node: Node = self._group(keys, self._scope.place(group) if group is not None else self._scope.statement)
        node = self._join_above(node, keys, compared)
        type_of = node.column_types().get
        if having is not None and condition is not None:
            node = Filter(node, resolve(condition, type_of), self._scope.place(having))
        named = ((name, resolve(result, type_of)) for name, result in results)
        return Project(
            node, tuple(ProjectItem(name, typed, typed.type) for name, typed in named), self._scope.statement
        )

    def build_value(self, item: exp.Expr, having: exp.Expr | None = None, *, keys: Sequence[Typed]) -> ValueOfGroup:
        names = tuple(f"$key{number}" for number in range(len(keys)))
        self._before |= {name: ProjectItem(name, key, key.type) for name, key in zip(names, keys, strict=True)}
        problems = Problems()
        value = problems.of(lambda: self._select(item, {}))
        condition = problems.of(lambda: self._having(having, {})) if having is not None else None
        problems.raise_all()
        assert value is not None
        groups = self._group({name: name for name in names}, self._scope.statement)
        if condition is not None:
            value = exp.Case(ifs=[exp.If(this=condition, true=value)])
        counts = {call.name for call in groups.calls if not call.type.nullable}  # of no rows, all others are NULL
        return ValueOfGroup(groups, names, value.transform(lambda part: _count_of_nothing(part, counts)))

    def _compared_above(self, keys: dict[str, str]) -> dict[str, list[exp.Expr]]:
        """What the sub-queries beside the groups look for, over the columns of the groups."""
        problems = Problems()
        found: dict[str, list[exp.Expr]] = {}
        for name, query in self._above.items():
            for column in query.inner.columns_around:
                problems.of(partial(self._result, self._scope.bind(column), keys))
            results = [problems.of(partial(self._compared, tree, keys)) for tree in query.compared]
            found[name] = [result for result in results if result is not None]
        problems.raise_all()
        return found

    def _compared(self, tree: exp.Expr, keys: dict[str, str]) -> exp.Expr:
        return self._result(self._scope.bind(tree, aggregates=True), keys)

    def _join_above(self, node: Node, keys: dict[str, str], compared: Mapping[str, Sequence[exp.Expr]]) -> Node:
        types = node.column_types()
        named = [(column, keys.get(_text(column_reference(column.reference)))) for column in self._scope.columns]
        known = [replace(column, reference=key, type=types[key]) for column, key in named if key is not None]
        for name, query in self._above.items():
            type_of = node.column_types().get
            typed = [(f"{name}.value{number}", resolve(tree, type_of)) for number, tree in enumerate(compared[name])]
            own = Project.of_columns(node, node.columns, self._scope.statement)
            items = tuple(ProjectItem(column, value, value.type) for column, value in typed)
            values = [ScopeColumn(_COMPARED, column, value.type, column, is_merged=True) for column, value in typed]
            scope = replace(self._scope, columns=(*known, *values))
            node = replace(own, items=(*own.items, *items)) if items else node
            node = query.comparing([_hidden_reference(value) for value in values]).join(node, scope, name)
        return node

    def _group(self, keys: dict[str, str], span: Span) -> Aggregate | WindowAggregate:
        columns = tuple(keys.values())
        inputs: Node = Project(self._node, tuple(self._before.values()), self._scope.statement)
        if len(self._sets) > 1:
            inputs = Expand(inputs, columns, self._sets, SET_NUMBER, span)
            columns = (*columns, SET_NUMBER)
        return _grouped(inputs, columns, tuple(self._calls.values()), span)

    def _select(self, item: exp.Expr, keys: dict[str, str] | None) -> exp.Expr:
        """`keys` is None where GROUP BY could not be read: then nothing can be said of what is grouped."""
        bound = self._scope.bind(item.unalias(), aggregates=True)
        return bound if keys is None else self._result(bound, keys)

    def _having(self, having: exp.Expr, keys: dict[str, str] | None) -> exp.Expr:
        bound = self._scope.bind(having.this, aggregates=True)
        self._scope.require_boolean(bound, infer(bound, self._type_of), "HAVING")
        return bound if keys is None else self._result(bound, keys)

    def _keys(self, group: exp.Group | None) -> dict[str, str]:
        """Each grouping expression's text, and the column that holds it."""
        if group is None:
            return {}
        keys: dict[str, str] = {}
        all_sets = grouping_sets(group, self._scope.place(group))
        problems = Problems()
        written_once = {id(expression): expression for written in all_sets for expression in written}
        texts = {at: problems.of(partial(self._key, one, keys)) or "" for at, one in written_once.items()}
        problems.raise_all()
        self._sets = tuple(
            tuple(dict.fromkeys(keys[texts[id(expression)]] for expression in written)) for written in all_sets
        )
        self._in_some_sets = frozenset(keys) if len(all_sets) > 1 else frozenset()
        return keys

    def _key(self, expression: exp.Expr, keys: dict[str, str]) -> str:
        bound = self._scope.bind(expression)
        text = _text(bound)
        keys[text] = self._input(bound, "key")
        return text

    def _input(self, expression: exp.Expr, purpose: str) -> str:
        """The name of a column below the aggregate that holds this expression."""
        text, plain = _text(expression), isinstance(expression, exp.Column)
        if text in self._in_some_sets:
            text, plain = f"{purpose} {text}", False  # what is aggregated is NULL in no set
        if text not in self._before:
            name = expression.name if plain else f"${purpose}{len(self._before)}"
            typed = resolve(expression, self._type_of)
            self._before[text] = ProjectItem(name, typed, typed.type)
        return self._before[text].name

    def _result(self, expression: exp.Expr, keys: dict[str, str]) -> exp.Expr:
        """The expression over the aggregate's columns instead of the input's."""
        text = _text(expression)
        if text in keys:
            return column_reference(keys[text])
        if is_grouping(expression):
            return self._grouping(expression, keys)
        if isinstance(expression, exp.Filter):
            if is_grouping(expression.this):
                raise self._refuse(expression, f"{expression.this.name.upper()} does not take FILTER")
            return self._aggregate(expression.this, expression.expression.this)
        if _is_aggregate(expression) or isinstance(expression, exp.IgnoreNulls | exp.RespectNulls):
            return self._aggregate(expression, None)
        if isinstance(expression, exp.Column):
            if expression.name in self._above:
                return expression.copy()
            raise ScriptError(self._ungrouped_error(expression, keys))
        rewritten = expression.copy()
        for child in list(rewritten.iter_expressions()):
            child.replace(self._result(child, keys))
        return rewritten

    def _ungrouped_error(self, column: exp.Column, keys: dict[str, str]) -> Diagnostic:
        """All the columns of one * give one and the same."""
        of_star = column.this.meta.get(OF_STAR)
        name = column.this.meta.get(WRITTEN, column.name)
        what = "* includes columns that are" if of_star else f'column "{name}" is'
        return Diagnostic(
            Code.UNDEFINED_COLUMN,
            f"{what} neither grouped nor aggregated",
            self._scope.place(column) if not of_star else self._scope.statement,
            detail=_NO_POSITIONS if any(text.isdigit() for text in keys) else None,
            hint="Name the columns that GROUP BY names."
            if of_star
            else "Add it to GROUP BY, or put it into an aggregate function.",
        )

    def _grouping(self, function: exp.Expr, keys: dict[str, str]) -> exp.Expr:
        """GROUPING and the like: a constant per grouping set."""
        if not self._sets:
            raise self._refuse(function, f"{function.name.upper()} needs GROUP BY")
        for argument in function.expressions:
            if _text(argument) not in keys:
                why = f"{function.name.upper()} takes expressions of GROUP BY, and this is not one"
                raise self._refuse(argument, why)
        asked = [keys[_text(argument)] for argument in function.expressions]
        return constant_per_set(values_of(function, asked, self._sets))

    def _aggregate(self, aggregate: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
        plain = aggregate.this if isinstance(aggregate, exp.IgnoreNulls | exp.RespectNulls) else aggregate
        argument, distinct = self._argument(plain)
        if isinstance(argument, exp.Star):
            star = aggregate_function(plain.name.upper()).star
            if condition is None and star is not None:
                return self._add_call(AggregateCall("", star, None, False, BIGINT.not_null()))
            argument = exp.Literal.number(1)
        return self._direct(
            plain, argument, condition, distinct=distinct, nulls=aggregate.find(exp.IgnoreNulls) is None
        )

    @staticmethod
    def _argument(aggregate: exp.Expr) -> tuple[exp.Expr, bool]:
        """What is aggregated, and whether each value counts once."""
        argument = _plain(aggregate.expressions[0])
        return (argument.expressions[0], True) if isinstance(argument, exp.Distinct) else (argument, False)

    def _direct(
        self, aggregate: exp.Expr, argument: exp.Expr, condition: exp.Expr | None, *, distinct: bool, nulls: bool
    ) -> exp.Expr:
        """An aggregate that the operator computes itself.

        A row that FILTER drops is given to it as NULL. Where values are kept, FILTER is a column of its own: calls that
        differ in nothing else keep their values together.
        """
        function, constants = aggregate_function(aggregate.name.upper()), _constants(aggregate)
        type_ = infer(call(function.name, argument.copy(), *(constant.copy() for constant in constants)), self._type_of)
        parameters = function.complete(tuple(constant.name for constant in constants))
        filter_ = None
        if function.keeps_nulls or distinct:
            filter_ = self._counted_column(argument, condition, nulls=nulls or not function.keeps_nulls)
        elif condition is not None:
            argument = exp.Case(ifs=[exp.If(this=condition.copy(), true=argument.copy())])
        name = self._input(argument, "argument")
        return self._add_call(AggregateCall("", function.name, name, distinct, type_, parameters, filter_))

    def _counted_column(self, argument: exp.Expr, condition: exp.Expr | None, *, nulls: bool) -> str | None:
        """The column that says which rows count, for a function that takes NULL for a value."""
        present = None if nulls else exp.Not(this=exp.Is(this=argument.copy(), expression=exp.Null()))
        conditions = [part.copy() for part in (condition, present) if part is not None]
        return self._input(exp.and_(*conditions), "filter") if conditions else None

    def _add_call(self, wanted: AggregateCall) -> exp.Expr:
        """The column that holds the result; two calls of the same have one column."""
        identity = str(wanted)
        if identity not in self._calls:
            self._calls[identity] = replace(wanted, name=f"$aggregate{len(self._calls)}")
        return column_reference(self._calls[identity].name)

    def _refuse(self, node: exp.Expr, why: str) -> ScriptError:
        return ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, why, self._scope.place(node)))


def _count_of_nothing(part: exp.Expr, counts: set[str]) -> exp.Expr:
    if not isinstance(part, exp.Column) or part.name not in counts:
        return part
    return exp.Anonymous(this="COALESCE", expressions=[part.copy(), exp.Literal.number(0)])


def _hidden_reference(column: ScopeColumn) -> exp.Expr:
    return exp.column(exp.to_identifier(column.name, quoted=True), table=exp.to_identifier(_COMPARED, quoted=True))


def _plain(argument: exp.Expr) -> exp.Expr:
    """An argument without the words IGNORE NULLS after it."""
    found: exp.Expr = argument.this if isinstance(argument, exp.IgnoreNulls | exp.RespectNulls) else argument
    return found


def _constants(aggregate: exp.Expr) -> list[exp.Expr]:
    """What follows the argument; DISTINCT holds all that is written after it."""
    first, *others = aggregate.expressions
    return [*first.expressions[1:], *others] if isinstance(first, exp.Distinct) else others


def _text(expression: exp.Expr) -> str:
    return expression.sql(dialect="flink")
