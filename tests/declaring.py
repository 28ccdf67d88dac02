"""Declares tables from options, and resolves them by their connectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.catalog.table import CatalogTable, table_of
from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.source import SourceText
from millstream.sql.parser import parse_script
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable, MetadataColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from millstream.sql.types import DataType

COLUMNS = "id BIGINT, name STRING"
KAFKA = {
    "connector": "kafka",
    "topic": "orders",
    "properties.bootstrap.servers": "localhost:9092",
    "format": "json",
}
UPSERT = {
    "connector": "upsert-kafka",
    "topic": "orders",
    "properties.bootstrap.servers": "localhost:9092",
    "key.format": "json",
    "value.format": "json",
}
KEYED = f"{COLUMNS}, PRIMARY KEY (id) NOT ENFORCED"


def declare(options: Mapping[str, str | None], columns: str = COLUMNS, *metadata: MetadataColumn) -> CatalogTable:
    """A table; an option that is None is left out."""
    entries = ", ".join(f"'{key}' = '{value}'" for key, value in options.items() if value is not None)
    return declare_sql(f"CREATE TABLE orders ({columns}) WITH ({entries})", *metadata)


def declare_sql(text: str, *metadata: MetadataColumn) -> CatalogTable:
    parsed = parse_script(expand(SourceText("s", text), {}))
    assert parsed.problems == ()
    [statement] = parsed.statements
    assert isinstance(statement, CreateTable)
    table = table_of(statement)
    placed = tuple(replace(column, span=table.span) for column in metadata)
    return replace(table, columns=(*table.columns, *placed))


def declare_table(columns: str, options: Mapping[str, str], partitioned_by: tuple[str, ...] = ()) -> CatalogTable:
    return replace(declare(options, columns), partitioned_by=partitioned_by)


def metadata_column(name: str, type_: DataType, key: str | None = None, *, virtual: bool = False) -> MetadataColumn:
    span = SourceText("s", "-").span(0, 1)
    return MetadataColumn(name, type_, span, key or name, is_virtual=virtual)


def source(table: CatalogTable) -> KafkaSource:
    found = resolve_source(table)
    assert isinstance(found, KafkaSource)
    return found


def sink(table: CatalogTable) -> KafkaSink:
    found = resolve_sink(table)
    assert isinstance(found, KafkaSink)
    return found


def problems(resolve: Callable[[CatalogTable], KafkaSource | KafkaSink], table: CatalogTable) -> tuple[Diagnostic, ...]:
    try:
        resolve(table)
    except ScriptError as error:
        return error.diagnostics
    return ()


def source_codes(table: CatalogTable) -> list[Code]:
    return [problem.code for problem in problems(source, table)]


def sink_codes(table: CatalogTable) -> list[Code]:
    return [problem.code for problem in problems(sink, table)]
