"""The options that both sources and sinks of Kafka have, each declared once."""

from __future__ import annotations

from typing import Final

from millstream.catalog.options import ConfigOption, Role, java_regex, one_of, text, text_list
from millstream.connectors.kafka.names import brokers, topics
from millstream.connectors.kafka.option_values import FieldsInclude

PROPERTIES: Final = "properties."

TOPIC: Final = ConfigOption(
    "topic",
    topics,
    "The topic; several are separated by ';'.",
    needed="unless 'topic-pattern' is given",
    example="orders",
    legacy=("connector.topic",),
)
TOPIC_PATTERN: Final = ConfigOption(
    "topic-pattern",
    java_regex,
    "A regular expression, Java's, that the whole name of a topic matches.",
    needed="unless 'topic' is given",
    example="orders-[0-9]+",
    legacy=("connector.topic-pattern",),
)
BOOTSTRAP_SERVERS: Final = ConfigOption(
    "properties.bootstrap.servers",
    brokers,
    "Addresses of the brokers as host:port, separated by ',', e.g. 'localhost:9092'.",
    needed="always",
    example="localhost:9092",
    legacy=("connector.properties.bootstrap.servers",),
)
GROUP_ID: Final = ConfigOption(
    "properties.group.id",
    text,
    "The consumer group; what it has committed is where a new job starts, and what the job commits.",
    role=Role.SOURCE,
    needed="with mode group-offsets",
    example="reporting",
    legacy=("connector.properties.group.id",),
)
FORMAT: Final = ConfigOption(
    "format",
    str,
    "The format of the messages, e.g. 'json'.",
    needed="unless 'value.format' is given",
    example="json",
    legacy=("format.type",),
)
KEY_FORMAT: Final = ConfigOption(
    "key.format", str, "The format of the message key, e.g. 'json' or 'avro'.", example="json", legacy=("format.type",)
)
VALUE_FORMAT: Final = ConfigOption(
    "value.format",
    str,
    "The format of the message value, e.g. 'json' or 'avro'.",
    needed="unless 'format' is given",
    example="json",
    legacy=("format.type",),
)
KEY_FIELDS: Final[ConfigOption[tuple[str, ...]]] = ConfigOption(
    "key.fields",
    text_list,
    "The columns of the message key, separated by ';', in the order in which the key has them.",
    (),
    needed="with 'key.format'",
    example="user_id;region",
)
KEY_FIELDS_PREFIX: Final = ConfigOption(
    "key.fields-prefix",
    str,
    "A prefix that the names of key columns have in the table and not in the key; for 'value.fields-include' = "
    "'EXCEPT_KEY'.",
    "",
    example="k_",
)
FIELDS_INCLUDE: Final = ConfigOption(
    "value.fields-include",
    one_of(
        FieldsInclude,
        {
            FieldsInclude.ALL: "the value has every column",
            FieldsInclude.EXCEPT_KEY: "the value has every column but the key's",
        },
    ),
    "ALL: the value has every column. EXCEPT_KEY: every column but the key's.",
    FieldsInclude.ALL,
)
