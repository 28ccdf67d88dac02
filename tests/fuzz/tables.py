"""Random tables whose messages are generated: with columns and options for each format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.formats.codecs import decoder_of
from millstream.formats.message_decoder import MessageDecoder
from millstream.formats.message_rows import MessageHalf, MessageRows
from tests.fuzz import binary_messages, json_messages
from tests.fuzz.texts import Draw, damage
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.flink_goldens import bind_format

if TYPE_CHECKING:
    Message = tuple[bytes | None, bytes | None]
    """Key and value."""

_JSON_COLUMNS: Final = (
    "bo BOOLEAN", "ti TINYINT", "i INT", "bi BIGINT", "fl FLOAT", "dbl DOUBLE", "de DECIMAL(10, 2)",
    "wi DECIMAL(38, 18)", "st STRING", "bin BYTES", "da DATE", "tm TIME", "ts TIMESTAMP(3)", "tz TIMESTAMP_LTZ(3)",
    "ar ARRAY<INT>", "ad ARRAY<DECIMAL(5, 2)>", "ro ROW<x BIGINT, y STRING>",
)  # fmt: skip
_MAPS: Final = ("ma MAP<STRING, INT>", "mr MAP<STRING, ROW<d DECIMAL(10, 2)>>")
_WIDE_COLUMNS: Final = tuple(f"w{i} {type_}" for i, type_ in enumerate(("BIGINT", "STRING", "INT") * 50))
_LISTS: Final = (
    f"li ARRAY<ROW<{', '.join(f'f{i} INT' for i in range(50))}>>",
    "ll ARRAY<ARRAY<ROW<x BIGINT, y STRING, z ROW<u INT, v DOUBLE>>>>",
    f"lr ARRAY<ROW<l ARRAY<ROW<{', '.join(f'f{i} INT' for i in range(20))}>>, x INT>>",
)
"""Of rows, which may be empty in a message but never in a table."""
_CSV_COLUMNS: Final = (*_JSON_COLUMNS[:15], "ro ROW<x INT, y STRING>")
_AVRO_COLUMNS: Final = tuple(column for column in (*_JSON_COLUMNS, *_MAPS) if not column.startswith("tz"))
_PROTOBUF_COLUMNS: Final = (
    "id INT", "name STRING", "price DOUBLE", "paid BOOLEAN", "raw BYTES", "small INT", "large BIGINT", "delta INT",
    "part FLOAT", "status STRING", "status BIGINT", "xs ARRAY<BIGINT>", "words ARRAY<STRING>",
    "items ARRAY<ROW<sku STRING>>", "item ROW<sku STRING>", "counts MAP<STRING, INT>",
)  # fmt: skip
_CHANGES: Final = ("debezium-json", "canal-json", "maxwell-json", "ogg-json")
_REGISTERED: Final = ("avro-confluent", "debezium-avro-confluent")
_JSON_ENCODING: Final = ("encoding", "json")
FORMATS: Final = ("json", "csv", "raw", "avro", *_REGISTERED, "protobuf", *_CHANGES)
_OPTIONS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "json": (
        ("ignore-parse-errors", "true"), ("fail-on-missing-field", "true"), ("timestamp-format.standard", "ISO-8601"),
    ),
    "csv": (
        ("ignore-parse-errors", "true"), ("allow-comments", "true"), ("null-literal", "null"),
        ("escape-character", "\\"), ("disable-quote-character", "true"), ("array-element-delimiter", "|"),
    ),
    "raw": (("charset", "utf-16"), ("charset", "utf-7"), ("charset", "shift-jis"), ("line-delimiter", "\n"),
            ("endianness", "little-endian")),
    "protobuf": (("ignore-parse-errors", "true"), ("read-default-values", "true")),
    **dict.fromkeys(_CHANGES, (("ignore-parse-errors", "true"), ("timestamp-format.standard", "ISO-8601"))),
}  # fmt: skip
_METADATA: Final = {
    "debezium-json": ("schema", "ingestion-timestamp", "source.timestamp", "source.table", "source.properties"),
    "canal-json": ("database", "sql-type", "pk-names", "ingestion-timestamp", "event-timestamp"),
    "maxwell-json": ("database", "primary-key-columns", "ingestion-timestamp"),
    "ogg-json": ("table", "primary-keys", "ingestion-timestamp", "event-timestamp"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """`key` are the columns of the key, in JSON; without any there is no key."""

    format: str
    columns: str
    options: tuple[tuple[str, str], ...] = ()
    metadata: tuple[str, ...] = ()
    key: str = ""

    def reader(self, places: dict[str, str], *, exact_only: bool) -> MessageRows:
        """`places` are options that only the process knows: addresses and files."""
        written = {f"{self.format}.{name}": value for name, value in (*places.items(), *self.options)}
        columns = parse_columns(self.columns)
        names = tuple(name for name, _ in columns)
        shown = tuple((f"m{i}", key) for i, key in enumerate(self.metadata))
        value = decoder_of(bind_format(self.format, written), columns, names, shown)
        names += tuple(name for name, _ in shown)
        key_columns = parse_columns(self.key) if self.key else ()
        key_names = tuple(name for name, _ in key_columns)
        key = decoder_of(bind_format("json", {}), key_columns, key_names)
        for decoder in (value, key):
            if exact_only and isinstance(decoder, MessageDecoder):
                decoder._exact_only = True
        half = MessageHalf(key, key_names) if self.key else None
        changes = self.format in _CHANGES or self.format.startswith("debezium")
        return MessageRows((*key_names, *names, "topic"), MessageHalf(value, names), half, changes, sets_aside=True)


def draw_table(rng: Draw, format_: str) -> Table:
    options = tuple(option for option in _OPTIONS.get(format_, ()) if rng.random() < 0.25)
    options = tuple(dict(options).items())
    if format_ == "avro":
        options = rng.choice(((), (_JSON_ENCODING,)))
    if format_ == "debezium-json" and rng.random() < 0.3:
        options = (*options, ("schema-include", "true"))
    metadata = tuple(key for key in _METADATA.get(format_, ()) if rng.random() < 0.2)
    return Table(
        format_, _columns(rng, format_), options, metadata, rng.choice(("", "", "k STRING", "k INT, l DECIMAL(8, 2)"))
    )


def _columns(rng: Draw, format_: str) -> str:
    chosen: tuple[str, ...]
    match format_:
        case "raw":
            return f"v {rng.choice(('STRING', 'STRING', 'BYTES', 'INT', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'SMALLINT'))}"
        case "csv":
            chosen = _CSV_COLUMNS
        case "avro":
            chosen = _AVRO_COLUMNS
        case "protobuf":
            chosen = _PROTOBUF_COLUMNS
        case name if name in _REGISTERED:
            return "id INT, name STRING"
        case _:
            chosen = (*_JSON_COLUMNS, *_MAPS) if rng.random() < 0.2 else _JSON_COLUMNS
            if rng.random() < 0.15:
                return ", ".join(rng.choice((_WIDE_COLUMNS, _LISTS, (*_LISTS[:1], *_JSON_COLUMNS[:3]))))
    drawn = rng.sample(chosen, rng.randrange(1, 6))
    return ", ".join({column.split()[0]: column for column in drawn}.values())


def draw_message(rng: Draw, table: Table) -> Message:
    rng.wildness = rng.choice((0.0, 0.02, 0.1, 0.5, 1.0))
    many = rng.choice((20, 3000, 20_000)) if table.key and rng.random() < 0.01 else None
    key = None
    if table.key and rng.random() < 0.97:
        key = damage(rng, _utf8(json_messages.rows(rng, parse_columns(table.key), many)))
    if rng.random() < 0.02:
        return key, rng.choice((None, b""))
    return key, damage(rng, _value(rng, table, many))


def _value(rng: Draw, table: Table, many: int | None) -> bytes:
    columns = parse_columns(table.columns)
    match table.format:
        case "json":
            return _utf8(json_messages.rows(rng, columns, many))
        case "csv":
            return binary_messages.csv(rng, columns)
        case "raw":
            return binary_messages.raw(rng)
        case "avro" if _JSON_ENCODING in table.options:
            return _utf8(json_messages.avro_datum(rng, columns))
        case "avro":
            return binary_messages.draw_avro_datum(rng, columns)
        case "protobuf":
            return binary_messages.protobuf(rng)
        case name if name in _REGISTERED:
            return binary_messages.draw_registered_datum(rng, changes=name.startswith("debezium"))
        case name:
            with_schema = ("schema-include", "true") in table.options
            return _utf8(json_messages.change(rng, name, columns, with_schema=with_schema))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
