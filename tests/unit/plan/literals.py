"""Columns in place of literals: what is computed for rows is not what is computed while planning."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from millstream.plan.typed import Call, Constant, Conversion, FieldOf, InputColumn, Typed, Word
from millstream.sql.types import INTERVALS, TypeRoot

_LITERAL: Final = ("JSON_OBJECT", "TYPEOF")


def replace_literals(node: Typed, values: dict[str, Constant]) -> Typed:
    """The same expression with columns instead of literals, except where a literal is required."""
    match node:
        case Constant() if node.type.root not in (TypeRoot.NULL, *INTERVALS):
            name = f"k{len(values)}"
            values[name] = node
            return InputColumn(name, node.type)
        case Call():
            arguments = tuple(
                item
                if isinstance(item, Word) or node.signature.parameter(index).literal or node.function.name in _LITERAL
                else replace_literals(item, values)
                for index, item in enumerate(node.arguments)
            )
            return replace(node, arguments=arguments)
        case Conversion():
            return replace(node, value=replace_literals(node.value, values))
        case FieldOf():
            return replace(node, row=replace_literals(node.row, values))
        case _:
            return node
