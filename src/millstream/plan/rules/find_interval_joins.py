"""A join whose conditions bound how far two event times may be apart keeps its rows no longer than that."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

from millstream.changelog import INSERT_ONLY
from millstream.join_kinds import JoinKind
from millstream.plan.conditions import all_of, conjuncts_of
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.interval_join import Interval, IntervalJoin
from millstream.plan.operators.join import Join
from millstream.plan.operators.node import transform
from millstream.plan.operators.project import Project
from millstream.plan.typed import Call, Constant, InputColumn, columns_in, substitute
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed, Word

_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_MICROS: Final = 1000
"""In a millisecond, to which event times are exact."""


def find_interval_joins(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return plan.with_inputs(*(transform(below, _change) for below in plan.inputs))


def _change(node: Node) -> Node:
    match node:
        case Join() if node.kind.gives_pairs and not node.needs_time:
            joined, rest = _join(node, [] if node.condition is None else conjuncts_of(node.condition))
            return replace(joined, condition=all_of(rest) if rest else None) if joined else node
        case Filter(input=Join(kind=JoinKind.INNER) as join) if not join.needs_time:
            joined, rest = _join(join, conjuncts_of(node.condition))
            if joined is None:
                return node
            return Filter(joined, all_of(rest), node.span) if rest else joined
        case _:
            return node


def _join(join: Join, conditions: Sequence[Typed]) -> tuple[IntervalJoin | None, list[Typed]]:
    """The join, if it is one of an interval, and the conditions that the interval does not say already."""
    found = _interval_of(join, conditions) if _reads_inserts(join) else None
    if found is None:
        return None, list(conditions)
    interval, said = found
    joined = IntervalJoin(
        join.left, join.right, join.left_keys, join.right_keys, interval, join.output, join.span, join.kind
    )
    return joined, [each for each in conditions if each not in said]


def _reads_inserts(join: Join) -> bool:
    return all(side.changelog == INSERT_ONLY for side in join.inputs)


@dataclass(slots=True)
class _Bounds:
    """What conditions say of the difference of two times."""

    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    said: list[Typed] = field(default_factory=list)
    """Conditions that say nothing else."""

    def add(self, difference: _Difference) -> None:
        self.lower += [difference.lower] if difference.lower is not None else []
        self.upper += [difference.upper] if difference.upper is not None else []


def _interval_of(join: Join, conditions: Sequence[Typed]) -> tuple[Interval, list[Typed]] | None:
    """By the first pair of times that is bounded on both ends."""
    sides = (_Side.of(join.left), _Side.of(join.right))
    by_pair: dict[tuple[str, str], _Bounds] = {}
    for left, right in zip(join.left_keys, join.right_keys, strict=True):
        key = _difference("=", _key(left, join.left, sides[0]), _key(right, join.right, sides[1]), sides)
        if key is not None:
            by_pair.setdefault(key.times, _Bounds()).add(key)
    for condition in conditions:
        found = [_difference(*each, sides) for each in _comparisons(condition)]
        for difference in filter(None, found):
            bounds = by_pair.setdefault(difference.times, _Bounds())
            bounds.add(difference)
            if all(each and each.times == difference.times for each in found):
                bounds.said.append(condition)
    for (left, right), bounds in by_pair.items():
        if bounds.lower and bounds.upper:
            return Interval(left, right, max(bounds.lower), min(bounds.upper)), bounds.said
    return None


@dataclass(frozen=True, slots=True)
class _Side:
    times: Mapping[str, TypeRoot]
    """Event-time attributes; one with a zone and one without are not compared by their milliseconds."""
    computed: Mapping[str, Typed]
    """What has been computed for the join, over other columns of the side."""

    @classmethod
    def of(cls, node: Node) -> Self:
        types = node.column_types()
        times = {name: types[name].root for name in node.rowtimes}
        items = node.items if isinstance(node, Project) else ()
        selected = {item.expression.name: item for item in items if isinstance(item.expression, InputColumn)}
        return cls(
            times,
            {
                item.name: substitute(item.expression, lambda column: replace(column, name=selected[column.name].name))
                for item in items
                if item.name not in times and columns_in(item.expression) <= selected.keys()
            },
        )


def _key(name: str, node: Node, side: _Side) -> Typed | Word:
    """What is compared; a row that another condition excludes has NULL instead, as its key, which equals nothing."""
    key: Typed | Word = side.computed.get(name) or InputColumn(name, node.column_types()[name])
    while isinstance(key, Call) and key.function.name == "IF" and _is_null(key.arguments[-1]):
        key = key.arguments[1]
    return key


def _is_null(expression: Typed | Word) -> bool:
    return isinstance(expression, Constant) and expression.value is None


def _comparisons(condition: Typed) -> Iterator[tuple[str, Typed | Word, Typed | Word]]:
    match condition:
        case Call() if condition.function.name in _TURNED:
            left, right = condition.arguments
            yield condition.function.name, left, right
        case Call() if condition.function.name == "BETWEEN":
            value, low, high = condition.arguments
            yield ">=", value, low
            yield "<=", value, high


@dataclass(frozen=True, slots=True)
class _Difference:
    """How much later the left time may be, in milliseconds."""

    times: tuple[str, str]
    lower: int | None
    upper: int | None


def _difference(
    operator: str, one: Typed | Word, other: Typed | Word, sides: tuple[_Side, _Side]
) -> _Difference | None:
    for op, first, second in ((operator, one, other), (_TURNED[operator], other, one)):
        left, right = _moved_time(first, sides[0]), _moved_time(second, sides[1])
        if left is None or right is None or sides[0].times[left[0]] is not sides[1].times[right[0]]:
            continue
        micros = right[1] - left[1]
        at_least, at_most = -(-micros // _MICROS), micros // _MICROS
        lower = {">": at_most + 1, ">=": at_least, "=": at_least}.get(op)
        upper = {"<": at_least - 1, "<=": at_most, "=": at_most}.get(op)
        return _Difference((left[0], right[0]), lower, upper)
    return None


def _moved_time(expression: Typed | Word, side: _Side) -> tuple[str, int] | None:
    """An event time of the side, and by how many microseconds it is moved."""
    match expression:
        case InputColumn(name=name) if name in side.times:
            return name, 0
        case InputColumn(name=name) if name in side.computed and not isinstance(side.computed[name], InputColumn):
            return _moved_time(side.computed[name], side)
        case Call() if expression.function.name in ("+", "-"):
            one, other = expression.arguments
            if expression.function.name == "+" and _micros(one) is not None:
                one, other = other, one
            base, micros = _moved_time(one, side), _micros(other)
            if base is None or micros is None:
                return None
            return base[0], base[1] + (micros if expression.function.name == "+" else -micros)
        case _:
            return None


def _micros(expression: Typed | Word) -> int | None:
    """Of an interval that is always as long."""
    match expression:
        case Constant(value=int(micros)) if expression.type.root is TypeRoot.INTERVAL_DAY_TIME:
            return micros
        case Call() if expression.function.name == "unary -":
            micros_below = _micros(expression.arguments[0])
            return None if micros_below is None else -micros_below
        case _:
            return None
