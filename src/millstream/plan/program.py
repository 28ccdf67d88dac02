"""A whole script, understood: its settings and the plan of each INSERT. No Spark, no broker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from millstream.catalog.catalog import Catalog
from millstream.catalog.settings import check_setting
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.build import build_insert
from millstream.plan.explain import explain
from millstream.plan.rules import RULES
from millstream.sql.parser import parse_script
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable, InsertInto, PhysicalColumn, SetOption

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from millstream.plan.nodes import Write
    from millstream.source import SourceText, Span
    from millstream.sql.parser import ParsedScript
    from millstream.sql.statements import Statement

_WORD: Final = re.compile("[A-Z][a-z]+")


@dataclass(frozen=True, slots=True)
class InsertPlan:
    """One INSERT, ready to become a job."""

    name: str
    plan: Write
    settings: tuple[tuple[str, str], ...]

    def explain(self) -> str:
        return explain(self.plan)


@dataclass(frozen=True, slots=True)
class Program:
    inserts: tuple[InsertPlan, ...]
    settings: tuple[tuple[str, str], ...]


def compile_script(
    source: SourceText,
    parameters: Mapping[str, str],
    settings: Mapping[str, str],
    catalog: Catalog | None = None,
    *,
    running_jobs: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> Program:
    """Understands every statement; problems of all of them are raised together."""
    compiler = _Compiler(catalog or Catalog(), dict(settings), running_jobs, overrides or {})
    return compiler.compile(parse_script(expand(source, parameters)))


class _Compiler:
    def __init__(
        self,
        catalog: Catalog,
        settings: dict[str, str],
        running_jobs: Collection[str],
        overrides: Mapping[str, str],
    ) -> None:
        self._catalog = catalog
        self._job_names = set(running_jobs)
        self._overrides = overrides
        self._settings = {**settings, **overrides}
        self._inserts: list[InsertPlan] = []
        self._broken_tables: set[str] = set()

    def compile(self, script: ParsedScript) -> Program:
        problems = list(script.problems)
        self._broken_tables.update(script.unreadable_tables)
        for statement in script.statements:
            try:
                self._take(statement)
            except ScriptError as error:
                if isinstance(statement, CreateTable):
                    self._broken_tables.add(statement.name.text)
                problems += (d for d in error.diagnostics if not self._follows_from_another(d))
        if problems:
            raise ScriptError(sorted(dict.fromkeys(problems), key=_position))
        return Program(tuple(self._inserts), tuple(self._settings.items()))

    def _take(self, statement: Statement) -> None:
        match statement:
            case CreateTable(columns=columns, like=like):
                if like is not None or not all(isinstance(column, PhysicalColumn) for column in columns):
                    raise _unsupported("a table with LIKE, computed or metadata columns", statement.span)
                self._catalog.create(statement)
            case SetOption():
                check_setting(statement.key, statement.value, statement.span)
                self._settings[statement.key] = self._overrides.get(statement.key, statement.value)
            case InsertInto():
                if statement.hints or statement.query.hints:
                    raise _unsupported("a hint", statement.span)
                plan = build_insert(statement, self._catalog)
                for rule in RULES:
                    plan = rule(plan)
                self._inserts.append(InsertPlan(self._job_name(statement), plan, tuple(self._settings.items())))
            case _:
                name = " ".join(_WORD.findall(type(statement).__name__)).upper()
                raise _unsupported(name, statement.span)

    def _job_name(self, statement: InsertInto) -> str:
        """Named after the sink, which stays the same when statements are added around it."""
        numbered = (f"{statement.target.text}-{number}" for number in count(2))
        name = next(name for name in chain([statement.target.text], numbered) if name not in self._job_names)
        self._job_names.add(name)
        return name

    def _follows_from_another(self, diagnostic: Diagnostic) -> bool:
        return diagnostic.code is Code.UNDEFINED_TABLE and any(
            f'"{name}"' in diagnostic.primary for name in self._broken_tables
        )


def _unsupported(what: str, span: Span) -> ScriptError:
    return ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{what} is not supported yet", span))


def _position(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span is not None else -1
