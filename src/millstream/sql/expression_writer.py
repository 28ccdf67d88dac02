"""Writes expressions as Flink SQL, which parses to the same tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from sqlglot import exp, generator

from millstream.sql.expression_parser import WITHOUT_PARENTHESES

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEFORE_NEXT: Final = {
    "EXTRACT": (" FROM ",),
    "OVERLAY": (" PLACING ", " FROM ", " FOR "),
    "POSITION": (" IN ",),
}
"""The words between arguments, for functions that use words instead of commas."""
_BARE: Final = frozenset(WITHOUT_PARENTHESES.values())


class ExpressionWriter(generator.Generator):
    TRANSFORMS: ClassVar = {
        **generator.Generator.TRANSFORMS,
        exp.Anonymous: lambda self, node: self._call(node),
        exp.Array: lambda self, node: f"ARRAY[{self.expressions(node, flat=True)}]",
        exp.Between: lambda self, node: self._between(node),
        exp.HexString: lambda _, node: f"X'{node.name}'",
        exp.NullSafeEQ: lambda self, node: self.binary(node, "IS NOT DISTINCT FROM"),
        exp.NullSafeNEQ: lambda self, node: self.binary(node, "IS DISTINCT FROM"),
        exp.DPipe: lambda self, node: self.binary(node, "||"),
        exp.Mod: lambda self, node: self.binary(node, "%"),
        exp.Div: lambda self, node: self.binary(node, "/"),
    }

    def _between(self, node: exp.Between) -> str:
        ends = f"{self.sql(node, 'low')} AND {self.sql(node, 'high')}"
        return f"{self.sql(node, 'this')} BETWEEN {'SYMMETRIC ' if node.args.get('symmetric') else ''}{ends}"

    def _call(self, node: exp.Anonymous) -> str:
        name = node.name.upper() if isinstance(node.this, str) else self.sql(node, "this")
        clauses = [f" {self._clause(item)}" for item in node.expressions if isinstance(item, exp.Kwarg)]
        arguments = [item for item in node.expressions if not isinstance(item, exp.Kwarg)]
        texts = [self.sql(argument) for argument in arguments]
        if name in _BARE and not texts:
            return name
        if name in ("ARRAY", "MAP"):
            return f"{name}[{', '.join(texts)}]"
        return f"{name}({self._arguments(name, arguments, texts)}{''.join(clauses)})"

    def _arguments(self, name: str, arguments: Sequence[exp.Expr], texts: list[str]) -> str:
        if name in ("CEIL", "FLOOR") and isinstance(arguments[-1], exp.Var):
            return " TO ".join(texts)
        if name == "TRIM" and isinstance(arguments[0], exp.Var):
            return f"{texts[0]} {texts[1]} FROM {texts[2]}"
        if name in ("JSON_OBJECT", "JSON_OBJECTAGG"):
            return ", ".join(f"KEY {key} VALUE {value}" for key, value in zip(texts[::2], texts[1::2], strict=True))
        between = _BEFORE_NEXT.get(name, ())
        if not between:
            return ", ".join(texts)
        return texts[0] + "".join(word + text for word, text in zip(between, texts[1:], strict=False))

    def _clause(self, clause: exp.Kwarg) -> str:
        name, value = clause.name, clause.expression
        text = self.sql(value)
        if name == "RETURNING":
            return f"RETURNING {text}"
        if name == "WRAPPER":
            return "WITHOUT ARRAY WRAPPER" if text == "WITHOUT" else f"WITH {text} ARRAY WRAPPER"
        return f"{text if isinstance(value, exp.Var) else f'DEFAULT {text}'} {name}"
