"""Binding a query's expressions to the columns they speak of, and refusing what does not fit together."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.resolver.expressions import USER_FUNCTION, Resolver
from millstream.spelling import nearest
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from millstream.catalog.functions import UserFunction
    from millstream.plan.typed import Typed
    from millstream.source import Span
    from millstream.sql.script import Script
    from millstream.sql.types import DataType


HIDDEN: Final = "$"
"""Begins the qualifiers of columns that no query can name."""
WRITTEN: Final = "written"
"""Where a bound column remembers what its table calls it."""


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column that an expression can name, `qualifier.name` or `name`."""

    qualifier: str
    name: str
    type: DataType
    reference: str
    """The column of the step below that holds it: another name where two tables have one of this."""
    is_merged: bool = False
    """Whether USING has made it one with that of another table: only with its qualifier is it this one."""

    @property
    def is_hidden(self) -> bool:
        return self.qualifier.startswith(HIDDEN)

    def is_named(self, qualifier: str, name: str = "") -> bool:
        return (self.qualifier, self.name) == (qualifier, name) and bool(self.qualifier or not self.is_merged)


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can name: columns of one or more tables, and the user's functions."""

    columns: tuple[ScopeColumn, ...]
    script: Script
    statement: Span
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    """By name in upper case."""

    @staticmethod
    def of_table(
        qualifier: str,
        columns: Iterable[tuple[str, DataType]],
        script: Script,
        statement: Span,
        functions: Mapping[str, UserFunction] | None = None,
    ) -> Scope:
        known = tuple(ScopeColumn(qualifier, name, type_, name) for name, type_ in columns)
        return Scope(known, script, statement, functions or {})

    @property
    def qualifiers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.qualifier for column in self.columns if not column.is_hidden))

    def type_of(self, reference: str) -> DataType | None:
        return next((column.type for column in self.columns if column.reference == reference), None)

    def knows(self, column: exp.Column) -> bool:
        """Whether it can be a column of these tables, or a field of one."""
        problems: list[Diagnostic] = []
        self._resolve(column, problems)
        return not problems

    def resolve(self, expression: exp.Expr) -> Typed:
        """The expression with a type on every part of it, over the columns of the step below."""
        return self._bind(expression, aggregates=False)[1]

    def bind(self, expression: exp.Expr, *, aggregates: bool = False) -> exp.Expr:
        """The expression with its columns resolved to bare, quoted names, and every part of it of a fitting type."""
        return self._bind(expression, aggregates=aggregates)[0]

    def type_of_call(self, call: exp.Expr) -> DataType:
        """The type of an aggregate, or of a function that OVER computes."""
        return self._bind(call, aggregates=True)[1].type

    def _bind(self, expression: exp.Expr, *, aggregates: bool) -> tuple[exp.Expr, Typed]:
        problems: list[Diagnostic] = []
        bound = exp.Paren(this=expression.copy())
        for column in [node for node in bound.find_all(exp.Column) if node.find_ancestor(exp.Query) is None]:
            column.replace(self._resolve(column, problems))
        for call in bound.find_all(exp.Anonymous):
            if (function := self.functions.get(call.name.upper())) is not None:
                call.meta[USER_FUNCTION] = function
        resolver = Resolver(self.type_of, self.place, self.functions, aggregates=aggregates)
        typed = resolver.resolve(bound.this)
        problems += resolver.problems
        if problems or typed is None:
            raise ScriptError(problems)
        return bound.this.unnest(), typed

    def type_with_aggregates(self, expression: exp.Expr) -> DataType:
        """The type of an expression that may have aggregate functions."""
        return self._bind(expression, aggregates=True)[1].type

    def place(self, node: exp.Expr) -> Span:
        """The first and last place inside the expression that sqlglot remembers, or else around it."""
        if positions := positions_of(node):
            return self.script.span(positions["start"], positions["end"] + 1)
        return self.place(node.parent) if node.parent is not None else self.statement

    def require_boolean(self, condition: exp.Expr, type_: DataType, clause: str) -> None:
        if type_.root not in (TypeRoot.BOOLEAN, TypeRoot.NULL):
            raise ScriptError(
                Diagnostic(
                    Code.TYPE_MISMATCH,
                    f"{clause} needs a BOOLEAN condition, not {type_}",
                    self.place(condition),
                    hint="Compare it with something, e.g. `<> 0` or `IS NOT NULL`.",
                )
            )

    def wrong_table(self, column: exp.Column) -> Diagnostic:
        return Diagnostic(
            Code.UNDEFINED_TABLE,
            f'table "{column.table}" is not in the FROM clause',
            self.place(column),
            hint=f"The query reads {enumerate_tables(self.qualifiers)}.",
        )

    def _resolve(self, column: exp.Column, problems: list[Diagnostic]) -> exp.Expr:
        """`t.c.f`, `c.f` and `c`: the longest way to read it as a column; what follows are fields of a row."""
        names = [part.name for part in column.parts]
        found = [known for known in self.columns if known.is_named(*names[:2])]
        fields = column.parts[2:]
        if not found:
            found = [known for known in self.columns if known.name == names[0] and not known.is_merged]
            fields = column.parts[1:]
            if found and fields and all(known.type.root is not TypeRoot.ROW for known in found):
                found = []
        if len(found) != 1:
            problems.append(self._ambiguous(column, found) if found else self._undefined_column(column))
            return column.copy()
        bare: exp.Expr = column_reference(found[0].reference)
        bare.this.meta.update({**column.parts[-len(fields) - 1].meta, WRITTEN: found[0].name})
        for part in fields:
            bare = exp.Dot(this=bare, expression=part.copy())
        return bare

    def _undefined_column(self, column: exp.Column) -> Diagnostic:
        if self.columns and column.table and column.table not in self.qualifiers:
            if column.table in {known.name for known in self.columns}:
                return Diagnostic(
                    Code.TYPE_MISMATCH, f'column "{column.table}" is not a ROW and has no fields', self.place(column)
                )
            return self.wrong_table(column)
        if not self.columns:
            return Diagnostic(
                Code.UNDEFINED_COLUMN,
                f'there is no table to read column "{column.name}" from',
                self.place(column),
                hint="Add FROM, or write a text in single quotes.",
            )
        candidates = (known for known in self.columns if not known.is_hidden)
        names = [known.name for known in candidates if column.table in ("", known.qualifier)]
        near = nearest(column.name, names)
        tables = (column.table,) if column.table else self.qualifiers
        return Diagnostic(
            Code.UNDEFINED_COLUMN,
            f'column "{column.name}" is not a column of {enumerate_tables(tables)}',
            self.place(column),
            detail=f"It has: {', '.join(names)}.",
            hint=f'Did you mean "{near}"?' if near else None,
        )

    def _ambiguous(self, column: exp.Column, found: list[ScopeColumn]) -> Diagnostic:
        return Diagnostic(
            Code.UNDEFINED_COLUMN,
            f'column "{column.parts[0].name}" is in more than one table',
            self.place(column),
            detail=f"It is a column of {enumerate_tables([known.qualifier for known in found])}.",
            hint=_how_to_qualify(found),
        )


def positions_of(node: exp.Expr) -> dict[str, int]:
    """`start` and `end` of what sqlglot remembers of the expression; nothing if it remembers none of its parts."""
    found = [part.meta for part in node.walk() if "start" in part.meta]
    if not found:
        return {}
    return {"start": min(each["start"] for each in found), "end": max(each["end"] for each in found)}


def _how_to_qualify(found: Sequence[ScopeColumn]) -> str:
    """A sub-query needs no name as long as nothing must be told from its columns."""
    named = next((known for known in found if known.qualifier), None)
    naming = f"give the sub-query a name: (SELECT …) AS t, and write t.{found[0].name}"
    ways = [f"write {named.qualifier}.{named.name}"] if named is not None else []
    ways += [naming] if any(not known.qualifier for known in found) else []
    text = ", or ".join(ways)
    return f"{text[0].upper()}{text[1:]}."


def enumerate_tables(names: Sequence[str], conjunction: str = " and ") -> str:
    return conjunction.join(f'"{name}"' if name else "a sub-query without a name" for name in names)


def output_names(items: Sequence[exp.Expr]) -> list[str]:
    """The columns of a SELECT list: aliases and column names, `EXPR$n` for the rest, no name twice (`a`, `a0`)."""
    names: list[str] = []
    for position, item in enumerate(items):
        alias = "" if isinstance(item, exp.Window) else item.alias  # that of a window is the window it names
        name = alias or (item.name if isinstance(item, exp.Column) else f"EXPR${position}")
        candidates = chain([name], (f"{name}{number}" for number in count()))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names


def column_reference(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))
