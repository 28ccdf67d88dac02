"""Protocol Buffers messages by a file of descriptors, with the rules of Flink's protobuf format."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from millstream.errors import Code
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.codecs import decoder_of, encoder_of
from millstream.formats.protobuf_descriptors import DescriptorFile
from tests.unit.formats.conformance.reading import Fails, parse_columns, rows_read
from tests.unit.formats.flink_goldens import bind_format
from tests.unit.formats.test_declarations import resolve_format

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.formats.registry import Format

KINDS: Final = {
    "int32": 5, "int64": 3, "uint32": 13, "uint64": 4, "sint32": 17, "fixed64": 6, "float": 2, "double": 1, "bool": 8,
    "string": 9, "bytes": 12,
}  # fmt: skip
LABELS: Final = {"optional": 1, "required": 2, "repeated": 3}
FIELDS: Final = """
1 optional int32 id | 2 optional string name | 3 optional double price | 4 optional bool paid | 5 optional bytes raw
6 optional uint32 small | 7 optional uint64 large | 8 optional sint32 delta | 9 optional float part
10 optional .shop.Status status | 11 repeated int64 xs | 12 repeated string words | 13 repeated .shop.Item items
14 optional .shop.Item item | 15 repeated .shop.Order.CountsEntry counts
"""
DECLARED: Final = (
    "id INT, name STRING, price DOUBLE, paid BOOLEAN, `raw` BYTES, small INT, `large` BIGINT, delta INT, part FLOAT, "
    "status STRING, xs ARRAY<BIGINT>, words ARRAY<STRING>, items ARRAY<ROW<sku STRING>>, item ROW<sku STRING>, "
    "counts MAP<STRING, INT>"
)


def add_fields(message: Any, text: str) -> None:
    for line in (part.strip() for part in text.replace("\n", "|").split("|") if part.strip()):
        number, label, kind, name = line.split()
        field = message.field.add(name=name, number=int(number), label=LABELS[label])
        if kind.startswith("."):
            field.type_name = kind
            field.type = (
                FieldDescriptorProto.TYPE_ENUM if kind.endswith("Status") else FieldDescriptorProto.TYPE_MESSAGE
            )
        else:
            field.type = KINDS[kind]


def shop(path: Path, syntax: str) -> str:
    file = FileDescriptorProto(name="proto/shop_orders.proto", package="shop", syntax=syntax)
    file.options.java_package = "com.example"
    status = file.enum_type.add(name="Status")
    for number, name in enumerate(("OPEN", "SENT")):
        status.value.add(name=name, number=number)
    add_fields(file.message_type.add(name="Item"), "1 optional string sku")
    order = file.message_type.add(name="Order")
    add_fields(order, FIELDS)
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    add_fields(entry, "1 optional string key | 2 optional int32 value")
    path.write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
    return str(path)


@pytest.fixture(params=["proto2", "proto3"])
def syntax(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def format_of(path: Path, syntax: str, **options: str) -> Format:
    options_ = {"message-class-name": "com.example.ShopOrders$Order", "descriptor-file": shop(path / "d.pb", syntax)}
    options_ |= {key.replace("_", "-"): value for key, value in options.items()}
    return bind_format("protobuf", {f"protobuf.{key}": value for key, value in options_.items()})


def encode_row(format_: Format, declared_: str, row: dict[str, Any]) -> str:
    columns = parse_columns(declared_)
    schema = arrow_schema(columns)
    [message] = encoder_of(format_, columns).encode(pa.Table.from_pylist([row], schema)).to_pylist()
    return str(message.hex())


@pytest.mark.parametrize(
    ("declared_", "row", "message"),
    [
        ("id INT, name STRING", {"id": 1, "name": "a"}, "0801120161"),
        ("name STRING, id INT", {"id": -1, "name": None}, "08ffffffffffffffffff01"),
        ("price DOUBLE, paid BOOLEAN", {"price": 0.1, "paid": True}, "199a9999999999b93f2001"),
        ("`raw` BYTES", {"raw": b"\xff"}, "2a01ff"),
        ("small INT, `large` BIGINT, delta INT", {"small": -1, "large": -1, "delta": -1},
         "30ffffffff0f38ffffffffffffffffff014001"),
        ("status STRING", {"status": "SENT"}, "5001"),
        ("status BIGINT", {"status": 1}, "5001"),
        ("item ROW<sku STRING>", {"item": {"sku": "x"}}, "72030a0178"),
        ("items ARRAY<ROW<sku STRING>>", {"items": [{"sku": "x"}, None]}, "6a030a01786a00"),
        ("words ARRAY<STRING>", {"words": ["a", None]}, "62016162013f"),
        ("counts MAP<STRING, INT>", {"counts": [("k", 7), ("l", None)]}, "7a050a016b10077a050a016c1000"),
        ("id INT", {"id": None}, ""),
    ],
)  # fmt: skip
def test_writes(tmp_path: Path, declared_: str, row: dict[str, Any], message: str) -> None:
    format_ = format_of(tmp_path, "proto2", write_null_string_literal="?")
    assert encode_row(format_, declared_, row) == message
    if "None" not in str(row):  # inside of an array or a map a NULL is a default
        columns = parse_columns(declared_)
        values = [repr(row[name]) if isinstance(row[name], float) else row[name] for name, _ in columns]
        assert rows_read(format_, columns, [bytes.fromhex(message)]) == [["+I", *values]]


def test_a_repeated_number_is_packed_as_the_syntax_says(tmp_path: Path) -> None:
    row = {"xs": [1, 2]}
    assert encode_row(format_of(tmp_path, "proto3"), "xs ARRAY<BIGINT>", row) == "5a020102"
    assert encode_row(format_of(tmp_path, "proto2"), "xs ARRAY<BIGINT>", row) == "58015802"


def test_what_is_absent(tmp_path: Path, syntax: str) -> None:
    """In proto3 plain values have their defaults, whatever the option says."""
    columns = parse_columns(DECLARED)
    defaults = [0, "", "0.0", False, b"", 0, 0, 0, "0.0", "OPEN"]
    plain = [None] * 10 if syntax == "proto2" else defaults
    assert rows_read(format_of(tmp_path, syntax), columns, [b""]) == [["+I", *plain, None, None, None, None, None]]
    format_ = format_of(tmp_path, syntax, read_default_values="true")
    item = {"sku": ""}
    assert rows_read(format_, columns, [b""]) == [["+I", *defaults, [], [], [], item, []]]


def test_a_value_that_is_the_default_is_not_written_in_proto3(tmp_path: Path) -> None:
    row = {"id": 0, "name": ""}
    assert encode_row(format_of(tmp_path, "proto3"), "id INT, name STRING", row) == ""
    assert encode_row(format_of(tmp_path, "proto2"), "id INT, name STRING", row) == "08001200"


def test_enums_beyond_those_declared(tmp_path: Path) -> None:
    format_ = format_of(tmp_path, "proto3")
    text, number = parse_columns("status STRING"), parse_columns("status INT")
    assert rows_read(format_, text, [b"\x50\x07"]) == [["+I", "UNRECOGNIZED"]]
    assert isinstance(rows_read(format_, number, [b"\x50\x07"]), Fails)
    assert encode_row(format_, "status STRING", {"status": "LOST"}) == ""  # the first of them, which is the default
    assert encode_row(format_of(tmp_path, "proto2"), "status INT", {"status": 7}) == "5000"


def test_messages_that_cannot_be_read(tmp_path: Path) -> None:
    columns = parse_columns("id INT")
    messages = [b"\x08\x01", b"\x08", None, b"\x08\x02\x98\x06\x01"]
    found = rows_read(format_of(tmp_path, "proto3"), columns, messages)
    assert isinstance(found, Fails)
    assert found.message.startswith("Failed to deserialize PB object.")
    lenient = format_of(tmp_path, "proto3", ignore_parse_errors="true")
    decoded = pickle.loads(pickle.dumps(decoder_of(lenient, columns, ("id",)))).decode(pa.array(messages, pa.binary()))
    assert decoded.table.to_pydict() == {"id": [1, 2]}
    assert (decoded.origin.to_pylist(), decoded.skipped) == ([0, 3], 1)


@pytest.mark.parametrize("name", ["shop.Order", "com.example.ShopOrders$Order", "com.example.ShopOrders.Order"])
def test_a_message_goes_by_several_names(tmp_path: Path, name: str) -> None:
    assert DescriptorFile.read(shop(tmp_path / "d", "proto3")).messages()[name] == "shop.Order"


@pytest.mark.parametrize(
    ("columns", "options", "codes"),
    [
        ("id INT, xs ARRAY<BIGINT>, counts MAP<STRING, INT>, item ROW<sku STRING>", {}, []),
        ("id BIGINT", {}, [Code.UNSUPPORTED_TYPE]),
        ("id INT, missing INT", {}, [Code.UNSUPPORTED_TYPE]),
        ("xs BIGINT, counts ARRAY<INT>, item STRING", {}, [Code.UNSUPPORTED_TYPE] * 3),
        ("item ROW<sku INT>, status DOUBLE, d DATE", {}, [Code.UNSUPPORTED_TYPE] * 3),
        ("id INT", {"message-class-name": "shop.Orders"}, [Code.INVALID_OPTION_VALUE]),
        ("id INT", {"descriptor-file": "/no/such/file"}, [Code.INVALID_OPTION_VALUE]),
    ],
)
def test_columns_are_fields(tmp_path: Path, columns: str, options: dict[str, str], codes: list[Code]) -> None:
    options_ = {"message-class-name": "shop.Order", "descriptor-file": shop(tmp_path / "d", "proto3"), **options}
    assert resolve_format("protobuf", options_, columns=columns)[1] == codes


def test_a_file_of_something_else(tmp_path: Path) -> None:
    for data in (b"", b"not protobuf at all"):
        (tmp_path / "d").write_bytes(data)
        with pytest.raises(ValueError, match=r"has no message|is not a set of descriptors"):
            DescriptorFile.read(str(tmp_path / "d"))


def test_both_options_are_needed() -> None:
    assert resolve_format("protobuf")[1] == [Code.MISSING_OPTION] * 2
