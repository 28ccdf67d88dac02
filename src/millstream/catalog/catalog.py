"""The tables a script has made so far."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from millstream.catalog.table import CatalogTable, table_of
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from millstream.source import Span
    from millstream.sql.statements import CreateTable


class Catalog:
    def __init__(self) -> None:
        self._tables: dict[str, CatalogTable] = {}

    def copy(self) -> Catalog:
        twin = Catalog()
        twin._tables = dict(self._tables)
        return twin

    def create(self, statement: CreateTable) -> None:
        if statement.name.text in self._tables:
            if statement.if_not_exists:
                return
            first = self._tables[statement.name.text]
            raise ScriptError(
                Diagnostic(
                    Code.DUPLICATE_TABLE,
                    f'table "{statement.name.text}" exists already',
                    statement.span,
                    detail=f"It was created at {first.span.source.name}:{first.span.line}.",
                    hint="Choose another name, or write CREATE TABLE IF NOT EXISTS.",
                )
            )
        self._tables[statement.name.text] = table_of(statement)

    def table(self, name: str, asked_at: Span) -> CatalogTable:
        found = self._tables.get(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(name, self._tables, n=1, cutoff=0.6)
        raise ScriptError(
            Diagnostic(
                Code.UNDEFINED_TABLE,
                f'table "{name}" is not defined',
                asked_at,
                detail=f"Tables defined so far: {', '.join(self._tables) or 'none'}.",
                hint=f'Did you mean "{near[0]}"?' if near else "Define it with CREATE TABLE before it is used.",
            )
        )
