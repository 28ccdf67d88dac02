"""Parts of a query that sqlglot reads and no step of a plan stands for: silence would be a wrong result."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from millstream.plan.resolver.top_n import limit_of
from millstream.sql.clause_parser import KEYWORD

_CLAUSES: Final = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "distinct", "windows", "with_"}
)
_OF_A_JOIN: Final = frozenset({"this", "on", "using", "kind", "side"})
_OF_A_TABLE: Final = frozenset({"this", "alias", "db", "catalog"})
_OF_A_SUBQUERY: Final = frozenset({"this", "alias"})
_OF_A_SET_OPERATION: Final = frozenset({"this", "expression", "distinct", "with_"})
_AS_OF: Final = "FOR SYSTEM_TIME AS OF"
_IN_WORDS: Final = {
    "laterals": "LATERAL",
    "order": "ORDER BY",
    "sample": "TABLESAMPLE",
    "version": _AS_OF,
}


def parts_of_select(tree: exp.Select, *, may_sort: bool = False) -> list[tuple[str, exp.Expr]]:
    found = _other_parts(tree, _CLAUSES | _parts_of_limit(tree, may_sort=may_sort))
    if (distinct := tree.args.get("distinct")) is not None and distinct.args.get("on"):
        found.append(("DISTINCT ON", distinct.args["on"]))
    from_ = tree.args.get("from_")
    found += parts_of_relation(from_.this) if from_ is not None else []
    for item in tree.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            found += _other_parts(star, frozenset({"this"}))
    return found


def parts_of_join(join: exp.Join) -> list[tuple[str, exp.Expr]]:
    """Of a join, `side` and FOR SYSTEM_TIME AS OF are read where it is resolved."""
    found = parts_of_relation(join.this)
    return _other_parts(join, _OF_A_JOIN) + [(what, part) for what, part in found if what != _AS_OF]


def parts_of_relation(tree: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """Of a table or of a query in parentheses."""
    match tree:
        case exp.Table():
            return _other_parts(tree, _OF_A_TABLE)
        case exp.Subquery():
            return _other_parts(tree, _OF_A_SUBQUERY)
        case _:
            return []


def parts_of_set_operation(tree: exp.SetOperation, *, may_sort: bool = False) -> list[tuple[str, exp.Expr]]:
    """Matching columns by name is one thing, which sqlglot has in three parts."""
    if tree.args.get("by_name"):
        way = "CORRESPONDING" if tree.args.get("kind") else "BY NAME"
        word = tree.key.upper()
        return [(f"{word} {way}" if tree.args.get("distinct") else f"{word} ALL {way}", tree)]
    return _other_parts(tree, _OF_A_SET_OPERATION | _parts_of_limit(tree, may_sort=may_sort))


def _parts_of_limit(tree: exp.Query, *, may_sort: bool) -> frozenset[str]:
    """An order is that of a limited number of rows, or of all where somebody looks at them."""
    if tree.args.get("limit") is None:
        return frozenset({"order"} if may_sort else ())
    return frozenset({"order", *(part for part in ("limit", "offset") if limit_of(tree.args.get(part)) is not None)})


def _other_parts(node: exp.Expr, known: frozenset[str]) -> list[tuple[str, exp.Expr]]:
    """What they are called and where they stand; a part without a place of its own stands where the node does."""
    return [
        (_clause_name(part, value), next(filter(_has_place, _items(value)), node))
        for part, value in node.args.items()
        if value and part not in known
    ]


def _clause_name(part: str, value: object) -> str:
    written = "FETCH" if isinstance(value, exp.Fetch) else part.strip("_").replace("_", " ").upper()
    return _IN_WORDS.get(part, written)


def _items(value: object) -> list[exp.Expr]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, exp.Expr)]


def _has_place(tree: exp.Expr) -> bool:
    return any({"start", KEYWORD} & inner.meta.keys() for inner in tree.walk())
