"""`protobuf`: one Protocol Buffers message per message, by a descriptor file instead of Java classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from millstream.catalog.options import ConfigOption, OptionType, Role, boolean, text
from millstream.catalog.suggestions import nearest_key
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.errors import Code
from millstream.formats.declaration import DeclaredUse, FormatDeclaration
from millstream.formats.protobuf_descriptors import DescriptorFile
from millstream.formats.protobuf_types import mismatch


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    descriptors: DescriptorFile
    message: str
    """Its full name, as in the .proto file."""
    ignore_parse_errors: bool = False
    read_default_values: bool = False
    null_string_literal: str = ""
    name: str = "protobuf"
    changelog: ChangelogMode = INSERT_ONLY


MESSAGE_CLASS_NAME: Final = ConfigOption(
    "message-class-name",
    text,
    "The Java class generated for the message, e.g. 'com.example.Orders$Order', or the message's full name.",
    needed="always",
)
DESCRIPTOR_FILE: Final = ConfigOption(
    "descriptor-file",
    OptionType("PATH", DescriptorFile.read),
    "What protoc writes with --include_imports --descriptor_set_out; read when the script is.",
    needed="always",
)
IGNORE_PARSE_ERRORS: Final = ConfigOption(
    "ignore-parse-errors", boolean, "Whether messages that cannot be read are skipped.", False, Role.SOURCE
)
READ_DEFAULT_VALUES: Final = ConfigOption(
    "read-default-values",
    boolean,
    "Whether an absent field is its default rather than NULL; in proto3 plain values always are.",
    False,
    Role.SOURCE,
)
NULL_STRING_LITERAL: Final = ConfigOption(
    "write-null-string-literal", str, "What stands for a NULL text inside an array or a map.", "", Role.SINK
)


def _options_are_there(use: DeclaredUse) -> None:
    for option in (MESSAGE_CLASS_NAME, DESCRIPTOR_FILE):
        if use.values[option.key] is None and not use.has(option):
            use.report_use(
                Code.MISSING_OPTION,
                f"table \"{use.reader.table.name}\" needs option '{use.under}{option.key}'",
                hint=f"Add '{use.under}{option.key}' = '…'. {option.doc}",
            )


def _fields_are_there(use: DeclaredUse) -> None:
    descriptors, written = use.values[DESCRIPTOR_FILE.key], use.values[MESSAGE_CLASS_NAME.key]
    if descriptors is None or written is None:
        return
    messages = descriptors.messages()
    if written not in messages:
        near = nearest_key(written, list(messages))
        use.report(
            Code.INVALID_OPTION_VALUE,
            f'there is no message "{written}" in "{descriptors.path}"',
            MESSAGE_CLASS_NAME,
            detail=f"It has: {', '.join(sorted(set(messages.values())))}.",
            hint=f"Did you mean '{near}'?" if near else None,
        )
        return
    fields = descriptors.message_type(messages[written]).DESCRIPTOR.fields_by_name
    for column in use.columns:
        if why := mismatch(fields.get(column.name), column.type, column.name):
            use.report_column("protobuf", column, why)


def _protobuf(values: dict[str, Any]) -> ProtobufFormat | None:
    descriptors, written = values[DESCRIPTOR_FILE.key], values[MESSAGE_CLASS_NAME.key]
    message = None if descriptors is None else descriptors.messages().get(written)
    if message is None:
        return None
    return ProtobufFormat(
        descriptors,
        message,
        values[IGNORE_PARSE_ERRORS.key],
        values[READ_DEFAULT_VALUES.key],
        values[NULL_STRING_LITERAL.key],
    )


PROTOBUF: Final = FormatDeclaration(
    "protobuf",
    "One Protocol Buffers message per message; columns are fields of the same name.",
    _protobuf,
    (MESSAGE_CLASS_NAME, DESCRIPTOR_FILE, IGNORE_PARSE_ERRORS, READ_DEFAULT_VALUES, NULL_STRING_LITERAL),
    rules=(_options_are_there, _fields_are_there),
)
