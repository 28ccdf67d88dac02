"""From a query to plan nodes: FROM, WHERE, GROUP BY and SELECT, each in its turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.catalog.table import CatalogTable
from millstream.changelog import KIND
from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.conditions import all_of
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.values import Values
from millstream.plan.resolver.aggregation import Grouping, aggregate_value, groups_of_each
from millstream.plan.resolver.correlation import (
    InnerQuery,
    correlated_parts,
    grouped_by,
    name_columns_around,
    require_equalities,
)
from millstream.plan.resolver.expression_queries import Subqueries
from millstream.plan.resolver.from_clause import KINDS, resolve_from, written_kind
from millstream.plan.resolver.join_conditions import condition_of, conditions_in, refuse_same_names
from millstream.plan.resolver.joins import Relation
from millstream.plan.resolver.marks import MarkQuery
from millstream.plan.resolver.memberships import Membership, query_of, spell_out_quantifiers, split_where
from millstream.plan.resolver.partners import join_members
from millstream.plan.resolver.scans import scan_of
from millstream.plan.resolver.scope import Scope, ScopeColumn, column_reference
from millstream.plan.resolver.select_items import limit_combined, select_items
from millstream.plan.resolver.set_operations import combine_sides, sides_of
from millstream.plan.resolver.single_rows import require_one_column, require_one_row
from millstream.plan.resolver.state_ttl import keep_for, read_state_ttls
from millstream.plan.resolver.subqueries import (
    aggregates_all,
    check_correlated,
    check_items,
    columns_of,
    select_inner,
)
from millstream.plan.resolver.top_n import first_of_each
from millstream.plan.resolver.unnesting import part_tables, unnest_all
from millstream.plan.resolver.unsupported_parts import (
    parts_of_join,
    parts_of_relation,
    parts_of_select,
    parts_of_set_operation,
)
from millstream.plan.resolver.value_queries import ValueQuery
from millstream.plan.resolver.values import values_node
from millstream.plan.resolver.window_functions import WindowCall, assign_windows, no_table
from millstream.plan.typed import InputColumn, columns_in
from millstream.sql.alternatives import ALTERNATIVES
from millstream.sql.clause_parser import KEYWORD, SELECT
from millstream.sql.statements import ObjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from millstream.catalog.catalog import Catalog
    from millstream.catalog.table import CatalogView
    from millstream.plan.operators.node import Node, OutputColumn
    from millstream.plan.resolver.expression_queries import ExpressionQuery, Written
    from millstream.source import Span
    from millstream.sql.statements import Name, OptionEntry, Query

_OTHER_TABLES: Final = ("laterals",)
"""Where these stand, nothing can be said of the columns."""
_DEEPEST: Final = 50


class QueryBuilder:
    """Builds the plan of one query text. A view's query is another text and gets a builder of its own."""

    def __init__(
        self,
        query: Query,
        catalog: Catalog,
        statement: Span,
        inside: tuple[str, ...] = (),
        problems: Problems | None = None,
        *,
        is_shown: bool = False,
    ) -> None:
        """`inside` are the views around it. Wrong options of the tables it reads go to `problems`, if given.

        Of a query that `is_shown`, somebody looks at all rows: it may have an order.
        """
        self._query = query
        self._catalog = catalog
        self._statement = statement
        self._hints: Mapping[int, tuple[OptionEntry, ...]] = dict(query.hints)
        self._query_hints = dict(query.query_hints)
        self._inside = inside
        self._given_problems = problems
        self._problems = problems or Problems()
        self._is_shown = is_shown
        self._sorted: exp.Expr | None = None

    def build(self) -> Node:
        """Problems of all parts are raised together."""
        tree = spell_out_quantifiers(self._query.tree)
        self._sorted = tree if self._is_shown else None
        if self._given_problems is not None:
            return self._check_reserved_column(self._relation(tree, {}))
        node = self._problems.of(lambda: self._check_reserved_column(self._relation(tree, {})))
        self._problems.raise_all()
        assert node is not None
        return node

    def _relation(self, tree: exp.Expr, named: Mapping[str, Node]) -> Node:
        match tree:
            case exp.Select():
                return self._select(tree, {**named, **self._with(tree, named)})
            case exp.Values():
                return values_node(tree, self._scope("", ()))
            case exp.SetOperation():
                return self._set_operation(tree, {**named, **self._with(tree, named)})
            case exp.Subquery() if not tree.args.get("alias"):
                self._refuse_parts(parts_of_relation(tree))
                return self._relation(tree.this, named)
            case _:
                raise self._unsupported_error(f"{tree.key.upper()}", tree)

    def _set_operation(self, tree: exp.SetOperation, named: Mapping[str, Node]) -> Node:
        self._refuse_parts(parts_of_set_operation(tree, may_sort=tree is self._sorted))
        sides = sides_of(tree)
        problems = Problems()
        queries = [problems.of(partial(self._relation, side, named)) for side in sides]
        problems.raise_all()
        found = [query for query in queries if query is not None]
        scope = self._scope("", ())
        return limit_combined(tree, combine_sides(tree, found, lambda number: self._place(sides[number]), scope), scope)

    def _with(self, tree: exp.Query, named: Mapping[str, Node]) -> Mapping[str, Node]:
        """The queries that WITH names, each able to read those before it."""
        clause = tree.args.get("with_")
        if clause is None:
            return {}
        if clause.args.get("recursive"):
            raise self._unsupported_error("WITH RECURSIVE", tree)
        found: dict[str, Node | None] = {}
        problems = Problems()
        for cte in clause.expressions:
            if cte.alias in found:
                why, hint = f'WITH names "{cte.alias}" twice', "Rename one of the two."
                place = self._place(cte.args["alias"])
                raise ScriptError(Diagnostic(Code.DUPLICATE_TABLE, why, place, hint=hint))
            known = {**named, **{name: node for name, node in found.items() if node is not None}}
            follows = any(found.get(table.name, True) is None for table in cte.this.find_all(exp.Table))
            found[cte.alias] = None if follows else problems.of(partial(self._resolve_cte, cte, known))
        problems.raise_all()
        return {name: node for name, node in found.items() if node is not None}

    def _resolve_cte(self, cte: exp.CTE, named: Mapping[str, Node]) -> Node:
        return self._rename(self._relation(cte.this, named), cte)

    def _select(self, tree: exp.Select, named: Mapping[str, Node]) -> Node:
        problems = Problems()
        problems.of(lambda: self._refuse_parts(parts_of_select(tree, may_sort=tree is self._sorted)))
        relations = problems.of(partial(self._relations, tree, named))
        if not any(tree.args.get(part) for part in _OTHER_TABLES) and relations is not None:
            node = problems.of(lambda: _keep_for_hint(self._over(tree, relations, named), relations))
        problems.raise_all()
        assert node is not None
        return node

    def _relations(self, tree: exp.Select, named: Mapping[str, Node]) -> list[Relation]:
        """The tables after FROM, with what is unnested of each."""
        problems = Problems()
        first_table, joins, unnestings = part_tables(tree)
        first = problems.of(lambda: self._from(first_table, named))
        others = [problems.of(partial(self._resolve_join, join, named)) for join in joins]
        problems.raise_all()
        found = [relation for relation in (first, *others) if relation is not None]
        hints = self._query_hints.get(tree.meta.get(SELECT, -1), ())
        ttls = read_state_ttls(hints, tree, [relation.qualifier for relation in found])
        found = [replace(relation, state_ttl=ttls.get(relation.qualifier)) for relation in found]
        return unnest_all(found, joins, unnestings, self._scope("", ()))

    def _from(self, tree: exp.Expr | None, named: Mapping[str, Node]) -> Relation:
        match tree:
            case None:
                return Relation("", Values(((),), (), self._statement), self._statement)
            case exp.Table(this=exp.Identifier()):
                qualifier, node = tree.alias_or_name, self._table(tree, named)
            case exp.Table(this=exp.Anonymous() as call):
                qualifier, node = tree.alias, self._windowed(call, named)
            case exp.Subquery(this=exp.Table() as table):
                what = "a join" if table.args.get("joins") else "a table"
                raise self._unsupported_error(f"{what} in parentheses", tree)
            case exp.Subquery():
                qualifier, node = tree.alias, self._relation(tree.this, named)
            case exp.Values():
                qualifier, node = tree.alias, self._relation(tree, named)
            case exp.Lateral() if tree.args.get("cross_apply") is None:
                raise self._unsupported_error("LATERAL", tree)
            case _:
                raise self._unsupported_error("anything but a table or a query after FROM", tree)
        return Relation(qualifier, self._check_reserved_column(self._rename(node, tree)), self._place(tree))

    def _windowed(self, tree: exp.Anonymous, named: Mapping[str, Node]) -> Node:
        """A call of a window function."""
        scope = self._scope("", ())
        call = WindowCall.of(tree, scope)
        match call.data:
            case exp.Table() as table:
                return assign_windows(call, self._table(table, named), scope)
            case exp.Query() as query:
                return assign_windows(call, self._relation(query, named), scope)
            case _:
                raise no_table(call, scope)

    def _resolve_join(self, join: exp.Join, named: Mapping[str, Node]) -> Relation:
        """What a join reads; kinds that are not supported are refused by their names."""
        kind = written_kind(join)
        if kind not in KINDS:
            raise self._unsupported_error(kind if kind.endswith("_JOIN") else f"{kind} JOIN", join)
        self._refuse_parts(parts_of_join(join))
        return self._from(join.this, named)

    def _table(self, tree: exp.Table, named: Mapping[str, Node]) -> Node:
        if self._query.script.text[tree.this.meta.get("start", 0)] == "'":
            why, instead = "expected a table name, not a text", f"Write {tree.name}, or `{tree.name}` in backticks."
            raise ScriptError(Diagnostic(Code.SYNTAX, why, self._place(tree), hint=instead))
        if not tree.db and tree.name in named:
            return named[tree.name]
        parts = tuple(part.name for part in tree.parts)
        name = ObjectName(parts, self._place(tree))
        relation = self._catalog.relation(name)
        hint = self._hints.get(tree.this.meta.get("start", -1), ())
        if isinstance(relation, CatalogTable):
            return scan_of(relation.with_options(hint), name.span, self._catalog.functions, self._problems)
        if hint:
            raise ScriptError(
                Diagnostic(Code.UNSUPPORTED_STATEMENT, f'"{relation.name}" is a view; views have no options', name.span)
            )
        return self._view(relation)

    def _view(self, view: CatalogView) -> Node:
        if view.name in self._inside:
            why = f'view "{view.name}" reads itself'
            way = " -> ".join((*self._inside[self._inside.index(view.name) :], view.name))
            raise ScriptError(Diagnostic(Code.UNDEFINED_TABLE, why, view.span, detail=f"Through {way}."))
        if len(self._inside) == _DEEPEST:
            raise ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, "views are nested too deeply", view.span))
        inside = (*self._inside, view.name)
        catalog = self._catalog.as_seen_by(view)
        node = QueryBuilder(view.query, catalog, self._statement, inside, self._problems).build()
        self.require_as_many(view.columns, node, view.span)
        return _with_names(node, view.columns, self._statement)

    def _rename(self, node: Node, tree: exp.Expr) -> Node:
        """`AS t (a, b)` gives the columns other names."""
        alias = tree.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        if not names:
            return node
        self.require_as_many(names, node, self._place(tree))
        return _with_names(node, names, self._statement)

    def _check_reserved_column(self, node: Node) -> Node:
        """One name is taken: under it the kind of a row travels beside its columns."""
        if any(column.name == KIND for column in node.columns):
            why = f'column name "{KIND}" is reserved for the kind of a row'
            hint = "Choose another name."
            raise ScriptError(Diagnostic(Code.DUPLICATE_COLUMN, why, self._statement, hint=hint))
        return node

    @staticmethod
    def require_as_many(names: Sequence[str | Name], node: Node, span: Span) -> None:
        if len(names) != len(node.columns):
            raise ScriptError(
                Diagnostic(
                    Code.SINK_SCHEMA_MISMATCH,
                    f"{len(names)} {'column is' if len(names) == 1 else 'columns are'} named, "
                    f"and the query has {len(node.columns)}",
                    span,
                    detail=f"The query gives: {', '.join(column.name for column in node.columns)}.",
                )
            )

    def _over(self, tree: exp.Select, relations: Sequence[Relation], named: Mapping[str, Node]) -> Node:
        """WHERE, GROUP BY and SELECT on top of what FROM gives."""
        where = tree.args.get("where")
        if len(relations) > 1 or (where is not None and where.find(exp.Query)):
            rows = self._rows(tree, relations, named)
            return select_items(tree, rows.node, rows.scope, rows.subqueries)
        [relation] = relations
        node, scope = relation.node, self._scope("", ())
        scope = replace(scope, columns=relation.in_scope({column.name: column.name for column in node.columns}))
        problems = Problems()
        if where is not None:
            condition = problems.of(lambda: condition_of(where.this, scope, "WHERE"))
            node = Filter(node, condition, scope.place(where)) if condition is not None else node
        selected = problems.of(lambda: select_items(tree, node, scope, self._subqueries(named)))
        problems.raise_all()
        assert selected is not None
        return selected

    def _rows(
        self,
        tree: exp.Select,
        relations: Sequence[Relation],
        named: Mapping[str, Node],
        around: Sequence[exp.Expr] = (),
    ) -> _Rows:
        """What FROM and WHERE give, but for the conditions that speak of a query `around` it."""
        refuse_same_names(relations)
        problems = Problems()
        source = resolve_from(relations, part_tables(tree)[1], self._scope_over, problems)
        plain, members = split_where(tree.args.get("where"))
        own = [part for part in plain if part not in around]
        taken = self._subqueries(named).take(own, source.scope, problems, are_conditions=True)
        held = taken.subqueries.take(around, taken.scope, problems, are_conditions=True)
        found = [problems.of(partial(condition_of, part, taken.scope, "WHERE")) for part in taken.trees]
        inner = [problems.of(partial(self._member_query, member, source.scope, named)) for member in members]
        problems.raise_all()
        written = zip(own, found, strict=True)
        conditions = [one for part, known in written if known for one in conditions_in(known, source.scope.place(part))]
        late = [each for each in conditions if columns_in(each.expression) & taken.queries.keys()]
        node = source.build([each for each in conditions if each not in late])
        for member, query in zip(members, inner, strict=True):
            if query is not None:
                node = join_members(node, source.scope, member, query)
        node = taken.join(node)
        if late:
            node = Filter(node, all_of(each.expression for each in late), late[0].span)
        return _Rows(held.join(node), held.scope, held.subqueries, held.trees)

    def _subqueries(self, named: Mapping[str, Node]) -> Subqueries:
        return Subqueries(partial(self._expression_query, named=named), is_shared=not self._hints)

    def _member_query(self, member: Membership, outer: Scope, named: Mapping[str, Node]) -> InnerQuery:
        try:
            return self._inner_query(member, outer, named)
        except ScriptError as error:
            raise ScriptError(name_columns_around(error.diagnostics, member.query, outer)) from None

    def _inner_query(self, member: Membership, outer: Scope, named: Mapping[str, Node]) -> InnerQuery:
        tree = member.query
        if isinstance(tree, exp.Select):
            known, relations, near = self._open(tree, named)
            if correlated := correlated_parts(tree, near, outer):
                check_correlated(tree, outer, takes_any_row=not member.values)
                if not member.values and not tree.args.get("group"):
                    rows = self._rows(tree, relations, known, correlated)
                    check_items(tree, rows.scope, outer)
                    return InnerQuery(rows.node, rows.scope, (), rows.around)
                return self._correlated(tree, lambda: self._rows(tree, relations, known, correlated), near, outer)
        return self._uncorrelated(tree, named)

    @staticmethod
    def _correlated(tree: exp.Select, read: Callable[[], _Rows], near: Scope, outer: Scope) -> InnerQuery:
        """What a query selects, beside the columns that its WHERE compares."""
        if tree.args.get("limit") is None and not tree.args.get("group"):
            rows = read()
            node, items = select_inner(tree, rows.node, rows.scope, rows.subqueries)
            return InnerQuery(node, rows.scope, items, rows.around)
        equalities = require_equalities(correlated_parts(tree, near, outer), near, outer)
        rows = read()
        keys = {f"$key{number}": each.own for number, each in enumerate(equalities)}
        if tree.args.get("group"):
            node, items = groups_of_each(tree, rows.node, keys, rows.scope, rows.subqueries)
        else:
            node, items = first_of_each(tree, rows.node, keys, rows.scope)
        return grouped_by(equalities, node, tuple(keys), rows.scope, items)

    def _open(self, tree: exp.Select, named: Mapping[str, Node]) -> tuple[Mapping[str, Node], list[Relation], Scope]:
        """The queries that a sub-query can read, what it reads, and what can be named of that."""
        self._refuse_parts(parts_of_select(tree))
        known = {**named, **self._with(tree, named)}
        relations = self._relations(tree, known)
        return known, relations, resolve_from(relations, part_tables(tree)[1], self._scope_over, Problems()).scope

    def _uncorrelated(self, tree: exp.Expr, named: Mapping[str, Node]) -> InnerQuery:
        node = self._relation(tree, named)
        return InnerQuery(node, self._scope("", node.columns), columns_of(node))

    def _expression_query(self, written: Written, outer: Scope, named: Mapping[str, Node]) -> ExpressionQuery:
        tree, place = written.tree, outer.place(written.tree)
        if isinstance(tree, exp.In | exp.Exists):
            member = Membership(tree, negated=False)
            inner = self._member_query(member, outer, named)
            may_be_null = tuple(outer.type_with_aggregates(value).nullable for value in member.values)
            return MarkQuery(inner, tuple(member.values), may_be_null, place, written.unknown_is_false)
        try:
            return self._resolve_value(query_of(tree), outer, named, place)
        except ScriptError as error:
            raise ScriptError(name_columns_around(error.diagnostics, query_of(tree), outer)) from None

    def _resolve_value(self, tree: exp.Expr, outer: Scope, named: Mapping[str, Node], place: Span) -> ValueQuery:
        inner = None
        if isinstance(tree, exp.Select):
            known, relations, near = self._open(tree, named)
            correlated = correlated_parts(tree, near, outer)
            if aggregates_all(tree):
                require_one_column(tree.expressions, place)
                equalities = require_equalities(correlated, near, outer)
                rows = self._rows(tree, relations, known, correlated)
                keys = [each.own for each in equalities]
                written = Grouping(tree.expressions, having=tree.args.get("having"))
                found = aggregate_value(rows.node, written, keys, rows.scope, rows.subqueries)
                return ValueQuery(grouped_by(equalities, found.groups, found.keys, rows.scope), found.value, place)
            if correlated:
                check_correlated(tree, outer, takes_any_row=False)
                inner = self._correlated(tree, lambda: self._rows(tree, relations, known, correlated), near, outer)
        inner = inner or self._uncorrelated(tree, named)
        require_one_column(inner.items, place)
        require_one_row(inner, outer, place)
        return ValueQuery(inner, column_reference(inner.items[0]), place)

    def _scope(self, qualifier: str, columns: tuple[OutputColumn, ...]) -> Scope:
        known = tuple(ScopeColumn(qualifier, column.name, column.type, column.name) for column in columns)
        return self._scope_over(known)

    def _scope_over(self, columns: tuple[ScopeColumn, ...]) -> Scope:
        return Scope(columns, self._query.script, self._statement, self._catalog.functions)

    def _refuse_parts(self, refused: list[tuple[str, exp.Expr]]) -> None:
        if refused:
            raise ScriptError(d for what, part in refused for d in self._unsupported_error(what, part).diagnostics)

    def _unsupported_error(self, what: str, tree: exp.Expr) -> ScriptError:
        keyword = tree.meta.get(KEYWORD)
        place = self._query.script.span(*keyword) if keyword else self._place(tree)
        primary, hint = f"{what} is not supported yet", ALTERNATIVES.get(what)
        return ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, primary, place, hint=hint))

    def _place(self, tree: exp.Expr) -> Span:
        return self._scope("", ()).place(tree)


def _keep_for_hint(node: Node, relations: Sequence[Relation]) -> Node:
    ttl = relations[0].state_ttl if len(relations) == 1 else None
    return node if ttl is None else keep_for(ttl, node, relations[0].node)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What FROM and WHERE of a query give."""

    node: Node
    scope: Scope
    subqueries: Subqueries
    around: tuple[exp.Expr, ...]
    """The conditions that speak of a query around it."""


def _with_names(node: Node, names: Sequence[str], span: Span) -> Node:
    if tuple(names) == tuple(column.name for column in node.columns):
        return node
    items = tuple(
        ProjectItem(name, InputColumn(column.name, column.type), column.type)
        for name, column in zip(names, node.columns, strict=True)
    )
    return Project(node, items, span)
