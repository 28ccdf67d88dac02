"""GROUP BY as three steps: compute keys and arguments, aggregate columns, compute the results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.expressions import AGGREGATES, Scope, column_reference, output_names
from millstream.plan.nodes import Aggregate, AggregateCall, AggregateFunction, Node, Project, ProjectItem
from millstream.plan.typing import infer, sum_type
from millstream.sql.types import BIGINT, NESTED, NUMERIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.sql.types import DataType


def has_aggregate(expression: exp.Expr) -> bool:
    return expression.find(*AGGREGATES) is not None


def build_aggregate(node: Node, items: Sequence[exp.Expr], group: exp.Group | None, scope: Scope) -> Node:
    return _Aggregation(node, scope).build(items, group)


class _Aggregation:
    """Gathers what must be computed before the aggregate while the SELECT list is rewritten."""

    def __init__(self, node: Node, scope: Scope) -> None:
        self._node = node
        self._scope = scope
        self._type_of = {column.name: column.type for column in node.columns}.get
        self._before: dict[str, ProjectItem] = {}
        self._calls: dict[str, AggregateCall] = {}

    def build(self, items: Sequence[exp.Expr], group: exp.Group | None) -> Node:
        keys = self._keys(group)
        problems = Problems()
        selected = [problems.of(partial(self._selected, item, keys)) for item in items]
        problems.raise_all()
        results = zip(output_names(items), (result for result in selected if result is not None), strict=True)
        inputs = tuple(self._before.values())
        aggregate = Aggregate(
            Project(self._node, inputs, self._scope.statement),
            tuple(keys.values()),
            tuple(self._calls.values()),
            self._scope.place(group) if group is not None else self._scope.statement,
        )
        type_of = {column.name: column.type for column in aggregate.columns}.get
        projected = tuple(ProjectItem(name, result, infer(result, type_of)) for name, result in results)
        return Project(aggregate, projected, self._scope.statement)

    def _selected(self, item: exp.Expr, keys: dict[str, str]) -> exp.Expr:
        return self._result(self._scope.bind(item.unalias(), aggregates=True), keys)

    def _keys(self, group: exp.Group | None) -> dict[str, str]:
        """Each grouping expression's text, and the column that holds it."""
        if group is None:
            return {}
        for kind in ("grouping_sets", "cube", "rollup", "totals"):
            if group.args.get(kind):
                raise ScriptError(
                    Diagnostic(
                        Code.UNSUPPORTED_STATEMENT,
                        f"{kind.replace('_', ' ').upper()} is not supported yet",
                        self._scope.place(group),
                    )
                )
        keys: dict[str, str] = {}
        for expression in group.expressions:
            bound = self._scope.bind(expression)
            self._require_comparable(bound, "GROUP BY")
            keys[bound.sql()] = self._input(bound, "key")
        return keys

    def _require_comparable(self, expression: exp.Expr, clause: str) -> None:
        type_ = infer(expression, self._type_of)
        if type_ is not None and type_.root in NESTED:
            raise self._refuse(expression, f"{clause} of type {type_} is not supported yet", Code.UNSUPPORTED_TYPE)

    def _input(self, expression: exp.Expr, purpose: str) -> str:
        """The name of a column below the aggregate that holds this expression."""
        text = expression.sql()
        if text not in self._before:
            plain = isinstance(expression, exp.Column)
            name = expression.name if plain else f"${purpose}{len(self._before)}"
            self._before[text] = ProjectItem(name, expression, infer(expression, self._type_of))
        return self._before[text].name

    def _result(self, expression: exp.Expr, keys: dict[str, str]) -> exp.Expr:
        """The expression over the aggregate's columns instead of the input's."""
        text = expression.sql()
        if text in keys:
            return column_reference(keys[text])
        if isinstance(expression, exp.Filter):
            return column_reference(self._call(expression.this, expression.expression.this))
        if isinstance(expression, AGGREGATES):
            return column_reference(self._call(expression, None))
        if isinstance(expression, exp.Column):
            raise ScriptError(
                Diagnostic(
                    Code.UNDEFINED_COLUMN,
                    f'column "{expression.name}" is neither grouped nor aggregated',
                    self._scope.place(expression),
                    hint="Add it to GROUP BY, or put it into an aggregate function.",
                )
            )
        rewritten = expression.copy()
        for child in list(rewritten.iter_expressions()):
            child.replace(self._result(child, keys))
        return rewritten

    def _call(self, aggregate: exp.Expr, condition: exp.Expr | None) -> str:
        if aggregate.expressions:
            raise self._refuse(aggregate, f"{aggregate.key.upper()} takes one expression")
        argument, distinct = aggregate.this, False
        if isinstance(argument, exp.Distinct):
            if len(argument.expressions) != 1:
                raise self._refuse(aggregate, "DISTINCT takes one expression here")
            argument, distinct = argument.expressions[0], True
            self._require_comparable(argument, "DISTINCT")
        function = AggregateFunction.COUNT if isinstance(aggregate, exp.Count) else AggregateFunction.SUM
        if isinstance(argument, exp.Star):
            argument = None
        if condition is not None:
            self._scope.require_boolean(condition, infer(condition, self._type_of), "FILTER")
            argument = exp.Case(ifs=[exp.If(this=condition, true=argument or exp.Literal.number(1))])
        if argument is None:
            return self._add_call(AggregateFunction.COUNT_STAR, None, BIGINT.not_null(), distinct=False)
        if has_aggregate(argument):
            raise self._refuse(aggregate, "an aggregate cannot stand inside another")
        type_ = infer(argument.args["ifs"][0].args["true"] if condition is not None else argument, self._type_of)
        if function is AggregateFunction.SUM and type_ is not None and type_.root not in NUMERIC:
            raise self._refuse(aggregate, f"SUM takes a number, and this is {type_}", Code.TYPE_MISMATCH)
        name = self._input(argument, "argument")
        result = sum_type(type_) if function is AggregateFunction.SUM else BIGINT.not_null()
        return self._add_call(function, name, result, distinct=distinct)

    def _add_call(
        self, function: AggregateFunction, argument: str | None, type_: DataType | None, *, distinct: bool
    ) -> str:
        identity = f"{function} {distinct} {argument}"
        if identity not in self._calls:
            name = f"$aggregate{len(self._calls)}"
            self._calls[identity] = AggregateCall(name, function, argument, distinct, type_)
        return self._calls[identity].name

    def _refuse(self, node: exp.Expr, why: str, code: Code = Code.UNSUPPORTED_EXPRESSION) -> ScriptError:
        return ScriptError(Diagnostic(code, why, self._scope.place(node)))
