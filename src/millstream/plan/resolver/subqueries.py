"""IN and EXISTS below AND in WHERE: semi and anti joins of what FROM gives with the rows of a sub-query."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.aggregation import has_aggregate
from millstream.plan.resolver.correlation import is_correlated
from millstream.plan.resolver.partners import ITEM
from millstream.plan.resolver.top_n import limit_of

if TYPE_CHECKING:
    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.expression_queries import Subqueries
    from millstream.plan.resolver.scope import Scope


def aggregates_all(tree: exp.Select) -> bool:
    """Whether it has one row whatever it reads; HAVING may drop it."""
    if tree.args.get("group") is not None or tree.args.get("offset") is not None:
        return False
    limit = tree.args.get("limit")
    if limit is not None and not limit_of(limit):
        return False
    return tree.args.get("having") is not None or any(has_aggregate(item) for item in tree.expressions)


def check_correlated(tree: exp.Select, scope: Scope, *, takes_any_row: bool) -> None:
    """Rows of a query that looks at the row around it are found by a join."""
    limit = tree.args.get("limit")
    is_made = tree.args.get("group") or (tree.args.get("distinct") and not takes_any_row)
    if tree.args.get("offset") or (limit is not None and (is_made or not limit_of(limit))):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "OFFSET or LIMIT of groups and distinct rows in a sub-query is not supported yet",
                scope.place(limit or tree.args["offset"]),
                detail="The sub-query speaks of columns around it.",
                hint="Number the rows in a sub-query of FROM: EXISTS (SELECT 1 FROM (SELECT …, ROW_NUMBER() OVER "
                "(PARTITION BY k ORDER BY …) AS rn FROM b) AS r WHERE r.rn <= 3 AND r.k = a.k).",
            )
        )
    if not tree.args.get("group") and (tree.args.get("having") or any(map(has_aggregate, tree.expressions))):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "IN and EXISTS with an aggregate of all rows that belong to a row around it are not supported yet",
                scope.place(tree),
                hint="It has one row: compare with its value, x = (SELECT MAX(y) FROM b WHERE b.k = a.k); or GROUP BY.",
            )
        )


def check_items(tree: exp.Select, inner: Scope, outer: Scope) -> None:
    """What EXISTS selects is not computed; yet there must be such columns."""
    both = replace(outer, columns=(*inner.columns, *outer.columns))
    problems = Problems()
    for item in tree.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            if isinstance(item, exp.Column) and item.table not in inner.qualifiers:
                problems.of(partial(_refuse_table, inner.wrong_table(item)))
        elif not item.find(exp.Query):
            problems.of(partial((both if is_correlated(item, inner, outer) else inner).resolve, item.unalias()))
    problems.raise_all()


def select_inner(tree: exp.Select, node: Node, scope: Scope, subqueries: Subqueries) -> tuple[Node, tuple[str, ...]]:
    """The rows of a correlated query with what it selects beside their columns."""
    problems = Problems()
    taken = subqueries.take([item.unalias() for item in tree.expressions], scope, problems)
    resolved = [problems.of(partial(taken.scope.resolve, item)) for item in taken.trees]
    problems.raise_all()
    items, node = [item for item in resolved if item is not None], taken.join(node)
    names = tuple(f"{ITEM}{number}" for number in range(len(items)))
    own = Project.of_columns(node, node.columns, scope.statement)
    added = (ProjectItem(name, item, item.type) for name, item in zip(names, items, strict=True))
    return replace(own, items=(*own.items, *added)), names


def columns_of(node: Node) -> tuple[str, ...]:
    return tuple(column.name for column in node.columns)


def _refuse_table(problem: Diagnostic) -> None:
    raise ScriptError(problem)
