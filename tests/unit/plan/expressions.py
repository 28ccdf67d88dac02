"""Expressions read, bound and typed as inside a query over a table `t`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from millstream.errors import ScriptError
from millstream.plan.resolver.expressions import infer
from millstream.plan.resolver.scope import Scope
from millstream.source import SourceText
from millstream.sql.dialect import Flink
from millstream.sql.script import Script
from millstream.sql.type_text import type_of_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.catalog.functions import UserFunction
    from millstream.errors import Diagnostic
    from millstream.plan.typed import Typed


def read(text: str) -> exp.Expr:
    parser = Flink().parser(error_level=ErrorLevel.IMMEDIATE)
    [tree] = parser.parse_into(exp.Condition, list(Flink().tokenize(text)), text)
    assert tree is not None
    return tree


def scope(
    text: str, columns: Mapping[str, str] | None = None, functions: Mapping[str, UserFunction] | None = None
) -> Scope:
    source = SourceText("t.sql", text)
    typed = [(name, type_of_text(type_)) for name, type_ in (columns or {}).items()]
    plain = Scope.of_table("t", typed, Script(source, text), source.span(0, len(text)))
    return Scope(plain.columns, plain.script, plain.statement, functions or {})


def bind(text: str, columns: Mapping[str, str] | None = None, *, aggregates: bool = False) -> exp.Expr:
    return scope(text, columns).bind(read(text), aggregates=aggregates)


def type_of(text: str, columns: Mapping[str, str] | None = None, *, aggregates: bool = False) -> str:
    return str(infer(bind(text, columns, aggregates=aggregates), scope(text, columns).type_of))


def resolve(text: str, columns: Mapping[str, str] | None = None) -> Typed:
    return scope(text, columns).resolve(read(text))


def problems(text: str, columns: Mapping[str, str] | None = None, *, aggregates: bool = False) -> list[Diagnostic]:
    try:
        bind(text, columns, aggregates=aggregates)
    except ScriptError as error:
        return list(error.diagnostics)
    return []
