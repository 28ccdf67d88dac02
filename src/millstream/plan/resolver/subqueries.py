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
    """Rows of a query that looks at the row around it are found by a join: it can group and count nothing."""
    limit = tree.args.get("limit")
    if tree.args.get("offset") or (limit is not None and not (takes_any_row and limit_of(limit))):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "LIMIT and OFFSET in a sub-query that speaks of columns around it are not supported yet",
                scope.place(limit or tree.args["offset"]),
                hint="Number the rows in a sub-query of FROM: EXISTS (SELECT 1 FROM (SELECT …, ROW_NUMBER() OVER "
                "(PARTITION BY k ORDER BY …) AS rn FROM b) AS r WHERE r.rn <= 3 AND r.k = a.k).",
            )
        )
    parts = [part for part in ("group", "having") if tree.args.get(part)]
    if parts or any(has_aggregate(item) for item in tree.expressions):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "a sub-query that groups rows and speaks of columns around it is not supported yet",
                scope.place(tree),
                hint="Group in a sub-query of FROM: EXISTS (SELECT 1 FROM (SELECT … GROUP BY k) AS g WHERE g.k = a.k)."
                if takes_any_row
                else "Leave GROUP BY out: rows are aggregated for each value that is compared, b.k = a.k.",
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


def select_inner(tree: exp.Select, node: Node, scope: Scope) -> tuple[Node, tuple[str, ...]]:
    """The rows of a correlated query with what it selects beside their columns."""
    items = [scope.resolve(item.unalias()) for item in tree.expressions]
    names = tuple(f"{ITEM}{number}" for number in range(len(items)))
    own = Project.of_columns(node, node.columns, scope.statement)
    added = (ProjectItem(name, item, item.type) for name, item in zip(names, items, strict=True))
    return replace(own, items=(*own.items, *added)), names


def columns_of(node: Node) -> tuple[str, ...]:
    return tuple(column.name for column in node.columns)


def _refuse_table(problem: Diagnostic) -> None:
    raise ScriptError(problem)
