"""`debezium-json`, `canal-json`, `maxwell-json` and `ogg-json`: messages that describe changes of rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from millstream.catalog.options import ConfigOption, Role, boolean
from millstream.changelog import ALL_CHANGES, ChangelogMode
from millstream.errors import Code
from millstream.formats.cdc_dialect import CANAL, DEBEZIUM, MAXWELL, OGG, CdcDialect
from millstream.formats.declaration import DeclaredUse, FormatDeclaration
from millstream.formats.json_format import SHARED_OPTIONS, json_options
from millstream.formats.json_options import JsonOptions
from millstream.formats.json_types import not_in_json


@dataclass(frozen=True, slots=True)
class CdcOptions:
    json: JsonOptions = field(default_factory=JsonOptions)
    schema_include: bool = False
    database_include: str | None = None
    table_include: str | None = None


@dataclass(frozen=True, slots=True)
class CdcJsonFormat:
    dialect: CdcDialect
    options: CdcOptions = field(default_factory=CdcOptions)
    changelog: ChangelogMode = ALL_CHANGES

    @property
    def name(self) -> str:
        return self.dialect.identifier


def regular_expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f'"{value}" is not a regular expression: {error}') from None
    return value


SCHEMA_INCLUDE: Final = ConfigOption(
    "schema-include",
    boolean,
    "Whether messages carry their schema, so that the change is under 'payload'.",
    False,
    Role.SOURCE,
)
DATABASE_INCLUDE: Final = ConfigOption(
    "database.include",
    regular_expression,
    "A regular expression for the whole name of the databases to read; other messages are skipped.",
    role=Role.SOURCE,
)
TABLE_INCLUDE: Final = ConfigOption(
    "table.include",
    regular_expression,
    "A regular expression for the whole name of the tables to read; other messages are skipped.",
    role=Role.SOURCE,
)


def _refuse_schema_of_sink(use: DeclaredUse) -> None:
    if use.written and use.values[SCHEMA_INCLUDE.key]:
        use.report(
            Code.CONFLICTING_OPTIONS,
            f"option '{use.under}{SCHEMA_INCLUDE.key}' cannot be true for a table that is written to",
            SCHEMA_INCLUDE,
        )


def _declaration(dialect: CdcDialect, *own: ConfigOption[Any], rules: tuple[Any, ...] = ()) -> FormatDeclaration:
    def bind(values: dict[str, Any]) -> CdcJsonFormat:
        options = CdcOptions(
            json_options(values),
            values.get(SCHEMA_INCLUDE.key, False),
            values.get(DATABASE_INCLUDE.key),
            values.get(TABLE_INCLUDE.key),
        )
        return CdcJsonFormat(dialect, options)

    return FormatDeclaration(
        dialect.identifier,
        dialect.doc,
        bind,
        (*own, *SHARED_OPTIONS),
        ALL_CHANGES,
        not_in_json,
        rules,
        tuple(metadata.declared for metadata in dialect.metadata),
    )


DEBEZIUM_JSON: Final = _declaration(DEBEZIUM, SCHEMA_INCLUDE, rules=(_refuse_schema_of_sink,))
CANAL_JSON: Final = _declaration(CANAL, DATABASE_INCLUDE, TABLE_INCLUDE)
MAXWELL_JSON: Final = _declaration(MAXWELL)
OGG_JSON: Final = _declaration(OGG)
