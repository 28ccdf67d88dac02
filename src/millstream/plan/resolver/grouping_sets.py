"""What GROUPING SETS, ROLLUP and CUBE stand for, written out as sets of expressions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.resolver.scope import column_reference
from millstream.sql.expression_parser import make_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.source import Span

    Set = tuple[exp.Expr, ...]

SET_NUMBER: Final = "$set"
_GROUPING: Final = frozenset({"GROUPING", "GROUPING_ID", "GROUP_ID"})
_MOST_SETS: Final = 1024
"""Each row becomes one row per set."""
_OF_OTHER_DIALECTS: Final = {
    "rollup": ("WITH ROLLUP", "Write GROUP BY ROLLUP (…)."),
    "cube": ("WITH CUBE", "Write GROUP BY CUBE (…)."),
    "totals": ("WITH TOTALS", "Write GROUP BY GROUPING SETS ((…), ())."),
    "grouping_sets": ("GROUPING SETS after a list", "Write GROUP BY GROUPING SETS (…) alone, with the list in it."),
}


def is_grouping(node: exp.Expr) -> bool:
    """Whether this asks which grouping set a row belongs to."""
    return isinstance(node, exp.Anonymous) and node.name.upper() in _GROUPING


def grouping_sets(group: exp.Group, span: Span) -> list[Set]:
    """Every combination of what the elements of a GROUP BY list stand for; of plain expressions there is one."""
    for part, (words, instead) in _OF_OTHER_DIALECTS.items():
        if group.args.get(part):
            raise ScriptError(
                Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{words} is not a Flink clause", span, hint=instead)
            )
    if not group.expressions:
        raise ScriptError(Diagnostic(Code.SYNTAX, "expected an expression after GROUP BY", span))
    number = math.prod(map(_number, group.expressions))
    if number > _MOST_SETS:
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                f"GROUP BY expands to {number} grouping sets; the maximum is {_MOST_SETS}",
                span,
                hint="Name the sets that are needed in GROUPING SETS (…).",
            )
        )
    found = [tuple(chain.from_iterable(sets)) for sets in product(*map(_sets, group.expressions))]
    if group.args.get("all") is not False:
        return found
    different: dict[frozenset[str], Set] = {}  # GROUP BY DISTINCT
    for set_ in found:
        different.setdefault(frozenset(part.sql() for part in set_), set_)
    return list(different.values())


def values_of(function: exp.Expr, asked: Sequence[str], sets: Sequence[tuple[str, ...]]) -> list[int]:
    """What GROUPING(asked), GROUPING_ID(asked) or GROUP_ID() is in each set.

    A bit per column, 1 where the set leaves it out; GROUP_ID counts the equal sets before this one.
    """
    if function.name.upper() != "GROUP_ID":
        return [int("".join(str(int(column not in kept)) for column in asked), 2) for kept in sets]
    seen: Counter[frozenset[str]] = Counter()
    values = []
    for kept in map(frozenset, sets):
        values.append(seen[kept])
        seen[kept] += 1
    return values


def constant_per_set(values: Sequence[int]) -> exp.Expr:
    """A BIGINT that depends on the number of the set alone."""
    numbers: dict[int, list[int]] = defaultdict(list)
    for number, value in enumerate(values):
        numbers[value].append(number)
    *branches, last = numbers
    chosen: exp.Expr = _literal(last)
    if branches:
        ifs = [exp.If(this=_is_one_of(numbers[value]), true=_literal(value)) for value in branches]
        chosen = exp.Case(ifs=ifs, default=chosen)
    return exp.Cast(this=chosen, to=make_type("BIGINT"))


def _is_one_of(numbers: Sequence[int]) -> exp.Expr:
    if len(numbers) == 1:
        return exp.EQ(this=column_reference(SET_NUMBER), expression=_literal(numbers[0]))
    return exp.In(this=column_reference(SET_NUMBER), expressions=list(map(_literal, numbers)))


def _literal(number: int) -> exp.Expr:
    return exp.Literal.number(number)


def _sets(element: exp.Expr) -> list[Set]:
    parts = [_parts(part) for part in element.expressions] if isinstance(element, exp.Rollup | exp.Cube) else []
    match element:
        case exp.GroupingSets():
            return [set_ for inner in element.expressions for set_ in _sets(inner)]
        case exp.Rollup():
            return [tuple(chain.from_iterable(parts[:length])) for length in range(len(parts), -1, -1)]
        case exp.Cube():
            chosen = chain.from_iterable(combinations(parts, length) for length in range(len(parts), -1, -1))
            return [tuple(chain.from_iterable(some)) for some in chosen]
        case _:
            return [_parts(element)]


def _number(element: exp.Expr) -> int:
    match element:
        case exp.GroupingSets():
            return sum(map(_number, element.expressions))
        case exp.Rollup():
            return len(element.expressions) + 1
        case exp.Cube():
            return 1 << len(element.expressions)
        case _:
            return 1


def _parts(element: exp.Expr) -> Set:
    """`(a, b)` is two expressions that come and go together, `()` none."""
    plain = element.unnest()
    return tuple(chain.from_iterable(map(_parts, plain.expressions))) if isinstance(plain, exp.Tuple) else (plain,)
