"""A table as a CREATE TABLE declares it, for tests that need no query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.catalog.table import table_of
from millstream.source import SourceText
from millstream.sql.parser import parse_script
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.catalog.table import CatalogTable


def declared(columns: str, options: Mapping[str, str], partitioned_by: tuple[str, ...] = ()) -> CatalogTable:
    written = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    script = expand(SourceText("test", f"CREATE TABLE t ({columns}) WITH ({written});"), {})
    [statement] = parse_script(script).statements
    assert isinstance(statement, CreateTable)
    return replace(table_of(statement), partitioned_by=partitioned_by)
