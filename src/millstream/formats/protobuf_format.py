"""`protobuf`: declared so that it is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from millstream.catalog.options import ConfigOption, boolean, text
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.formats.declaration import FormatDeclaration


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    message_class_name: str | None
    name: str = "protobuf"
    changelog: ChangelogMode = INSERT_ONLY


MESSAGE_CLASS_NAME: Final = ConfigOption(
    "message-class-name", text, "The Java class generated for the message, e.g. 'com.example.Order'."
)
_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    MESSAGE_CLASS_NAME,
    ConfigOption("ignore-parse-errors", boolean, "Whether messages that cannot be read are skipped.", False),
    ConfigOption("read-default-values", boolean, "Whether an absent field is its default rather than NULL.", False),
    ConfigOption("write-null-string-literal", str, "What stands for a NULL inside an array or a map.", ""),
)

PROTOBUF: Final = FormatDeclaration(
    "protobuf",
    "One Protocol Buffers message per message.",
    lambda values: ProtobufFormat(values[MESSAGE_CLASS_NAME.key]),
    _OPTIONS,
    refused_because="It names a generated Java class, and no Java class of the user's is loaded here.",
)
