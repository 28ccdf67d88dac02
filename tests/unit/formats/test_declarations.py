"""What a user can write for a format, and what is said when it is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from millstream.catalog.option_reader import OptionReader
from millstream.catalog.options import ConfigOption, Role
from millstream.catalog.table import table_of
from millstream.changelog import ALL_CHANGES, INSERT_ONLY
from millstream.errors import Code
from millstream.formats.avro_format import AvroFormat
from millstream.formats.avro_schema import avro_schema, debezium_schema
from millstream.formats.avro_types import not_in_avro
from millstream.formats.cdc_format import CdcJsonFormat
from millstream.formats.confluent_format import ConfluentAvroFormat
from millstream.formats.csv_format import CsvFormat, CsvOptions
from millstream.formats.csv_types import not_in_csv
from millstream.formats.raw_format import Endianness, RawFormat, RawOptions
from millstream.formats.registry import FORMATS, Format, read_format
from millstream.source import SourceText
from millstream.sql.parser import parse_script
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable
from millstream.sql.types import STRING, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VALUE_FORMAT = ConfigOption("value.format", str, "The format.")
NOTHING: Final[Mapping[str, str]] = {}
URL: Final = {"url": "http://registry:8081"}


def resolve_format(
    format_: str, options: Mapping[str, str] = NOTHING, columns: str = "a STRING", role: Role = Role.BOTH
) -> tuple[Format | None, list[Code], list[str]]:
    """The format, and the codes and texts of the problems, leftovers included."""
    written = {"connector": "kafka", "value.format": format_}
    written |= {f"value.{format_}.{key}": value for key, value in options.items()}
    clauses = ", ".join(f"'{key}' = '{value}'" for key, value in written.items())
    text = f"CREATE TABLE t ({columns}) WITH ({clauses})"
    (statement,) = parse_script(expand(SourceText("t.sql", text), {})).statements
    assert isinstance(statement, CreateTable)
    table = table_of(statement)
    reader = OptionReader(table)
    reader.get(ConfigOption("connector", str, ""))
    found = read_format(reader, VALUE_FORMAT, "value.", table.physical_columns, role)
    reader.refuse_leftovers("kafka")
    return found, [problem.code for problem in reader.problems], [str(problem.render()) for problem in reader.problems]


def test_every_format_of_flink_is_declared() -> None:
    assert list(FORMATS) == [
        "json", "csv", "avro", "raw", "debezium-json", "canal-json", "maxwell-json", "ogg-json", "avro-confluent",
        "debezium-avro-confluent", "protobuf",
    ]  # fmt: skip


@pytest.mark.parametrize("identifier", [name for name in FORMATS if name != "protobuf"])
def test_every_format_can_be_used_without_its_optional_options(identifier: str) -> None:
    needed = URL if "confluent" in identifier else NOTHING
    found, problems, _ = resolve_format(identifier, needed)
    assert problems == []
    assert found is not None
    assert found.name == identifier
    assert found.changelog == FORMATS[identifier].changelog
    assert found.changelog == (ALL_CHANGES if found.name.split("-")[0] in CHANGING else INSERT_ONLY)


CHANGING = ("debezium", "canal", "maxwell", "ogg")


@pytest.mark.parametrize("identifier", FORMATS)
def test_every_option_says_what_it_does(identifier: str) -> None:
    declaration = FORMATS[identifier]
    assert declaration.doc.endswith(".")
    for option in declaration.options:
        assert option.doc.endswith("."), option.key
    for key, reason in declaration.without_effect:
        assert reason.endswith("."), key
    assert len({option.key for option in declaration.options}) == len(declaration.options)


def test_csv_takes_characters_as_java_writes_them() -> None:
    found, problems, _ = resolve_format("csv", {"field-delimiter": "\\t", "disable-quote-character": "true"})
    assert problems == []
    assert found == CsvFormat(CsvOptions(delimiter="\t", quote=None))
    assert resolve_format("csv", {"field-delimiter": "\\u0001"})[0] == CsvFormat(CsvOptions(delimiter="\x01"))


def test_raw_takes_its_options() -> None:
    found, problems, _ = resolve_format("raw", {"charset": "ISO-8859-1", "endianness": "Little-Endian"})
    assert problems == []
    assert found == RawFormat(RawOptions("iso8859-1", Endianness.LITTLE))


def test_older_keys_of_the_registry_are_taken() -> None:
    found, problems, _ = resolve_format(
        "avro-confluent", {"schema-registry.url": "http://r", "schema-registry.subject": "s"}
    )
    assert problems == []
    assert isinstance(found, ConfluentAvroFormat)
    assert (found.options.registry.url, found.options.subject) == ("http://r", "s")
    assert found.with_default_subject("t-value").options.subject == "s"


@pytest.mark.parametrize(
    ("format_", "schema"),
    [
        ("avro-confluent", avro_schema([("a", STRING)], "shop.Order")),
        ("debezium-avro-confluent", debezium_schema([("a", STRING)])),
    ],
)
def test_a_schema_that_says_what_the_table_says_is_taken(format_: str, schema: object) -> None:
    found, problems, _ = resolve_format(format_, URL | {"schema": json.dumps(schema)})
    assert problems == []
    assert isinstance(found, ConfluentAvroFormat)
    assert found.options.schema is not None


def test_the_topic_gives_the_subject() -> None:
    found, _, _ = resolve_format("avro-confluent", URL)
    assert isinstance(found, ConfluentAvroFormat)
    assert found.with_default_subject("t-value").options.subject == "t-value"


@pytest.mark.parametrize(
    ("format_", "options"),
    [("json", {"decode.json-parser.enabled": "true"}), ("avro", {"codec": "snappy"})],
)
def test_options_without_effect_are_accepted(format_: str, options: dict[str, str]) -> None:
    assert resolve_format(format_, options)[1] == []


@pytest.mark.parametrize(
    ("format_", "options", "code"),
    [
        ("json", {"fail-on-missing-field": "true", "ignore-parse-errors": "true"}, Code.CONFLICTING_OPTIONS),
        ("json", {"timestamp-format.standard": "sql"}, Code.INVALID_OPTION_VALUE),
        ("json", {"map-null-key.mode": "KEEP"}, Code.INVALID_OPTION_VALUE),
        ("json", {"colour": "red"}, Code.UNDEFINED_OPTION),
        ("csv", {"field-delimiter": "ab"}, Code.INVALID_OPTION_VALUE),
        ("csv", {"quote-character": "|", "disable-quote-character": "true"}, Code.CONFLICTING_OPTIONS),
        ("avro", {"encoding": "xml"}, Code.INVALID_OPTION_VALUE),
        ("raw", {"charset": "klingon"}, Code.INVALID_OPTION_VALUE),
        ("raw", {"endianness": "middle"}, Code.INVALID_OPTION_VALUE),
        ("canal-json", {"table.include": "("}, Code.INVALID_OPTION_VALUE),
        ("avro-confluent", {}, Code.MISSING_OPTION),
        ("avro-confluent", {**URL, "schema": "{"}, Code.INVALID_OPTION_VALUE),
        ("avro-confluent", {**URL, "schema": '["null"]'}, Code.CONFLICTING_OPTIONS),
        ("avro-confluent", {**URL, "bearer-auth.credentials-source": "OAUTHBEARER"}, Code.INVALID_OPTION_VALUE),
        ("avro-confluent", {**URL, "properties": "basic.auth.credentials.source:x"}, Code.INVALID_OPTION_VALUE),
        ("protobuf", {"message-class-name": "a.B"}, Code.MISSING_OPTION),
        ("yaml", {}, Code.UNDEFINED_FORMAT),
    ],
)
def test_what_is_wrong_is_told(format_: str, options: dict[str, str], code: Code) -> None:
    assert resolve_format(format_, options)[1] == [code]


@pytest.mark.parametrize(
    ("format_", "columns"),
    [
        ("json", "m MAP<INT, INT>"),
        ("csv", "a ARRAY<ARRAY<INT>>"),
        ("csv", "r ROW<x ROW<y INT>>"),
        ("csv", "m MAP<STRING, INT>"),
        ("raw", "a INT, b INT"),
        ("raw", "a ARRAY<INT>"),
        ("avro", "t TIMESTAMP(6)"),
        ("avro", "t TIMESTAMP_LTZ(3)"),
        ("avro", "r ROW<t TIMESTAMP(9)>"),
        ("avro", "m MAP<INT, INT>"),
        ("debezium-json", "m MAP<INT, INT>"),
    ],
)
def test_columns_that_a_format_cannot_carry(format_: str, columns: str) -> None:
    assert resolve_format(format_, columns=columns)[1][0] is Code.UNSUPPORTED_TYPE


def test_the_newer_mapping_of_avro_has_all_timestamps() -> None:
    columns = "a TIMESTAMP(6), b TIMESTAMP_LTZ(3)"
    found, problems, _ = resolve_format("avro", {"timestamp_mapping.legacy": "false"}, columns=columns)
    assert problems == []
    assert isinstance(found, AvroFormat)
    assert not found.legacy_timestamps


def test_a_written_table_has_no_schema_in_its_messages() -> None:
    options = {"schema-include": "true"}
    assert resolve_format("debezium-json", options, role=Role.SINK)[1] == [Code.CONFLICTING_OPTIONS]
    found, problems, _ = resolve_format("debezium-json", options, role=Role.SOURCE)
    assert problems == []
    assert isinstance(found, CdcJsonFormat)
    assert found.options.schema_include


def test_metadata_keys_are_declared_with_their_types() -> None:
    metadata = {key.key: str(key.type) for key in FORMATS["canal-json"].metadata}
    assert metadata == {
        "database": "STRING",
        "table": "STRING",
        "sql-type": "MAP<STRING, INT>",
        "pk-names": "ARRAY<STRING>",
        "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
        "event-timestamp": "TIMESTAMP_LTZ(3)",
    }


@pytest.mark.parametrize("refuses", [not_in_csv, not_in_avro])
def test_times_have_milliseconds(refuses: Callable[[DataType], str | None]) -> None:
    assert refuses(DataType(TypeRoot.TIME, precision=3)) is None
    assert refuses(DataType(TypeRoot.TIME, precision=6)) is not None
