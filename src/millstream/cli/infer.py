"""`millstream infer`: a CREATE TABLE for a topic, written from a sample of its messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.formats.confluent_format import RegistryOptions
from millstream.topics.ddl import write_table
from millstream.topics.inference import infer_table
from millstream.topics.messages import read_newest
from millstream.topics.payloads import PayloadReader
from millstream.topics.rows import read_messages
from millstream.topics.starts import starts_of

if TYPE_CHECKING:
    from millstream.cli.topics import ClusterRequest


def infer(request: ClusterRequest, topic: str, count: int, registry: str | None, name: str | None) -> int:
    cluster = request.connect()
    ends = starts_of(cluster, topic, "latest")
    reader = PayloadReader(RegistryOptions(registry) if registry is not None else None)
    found = read_newest(cluster, topic, ends, count, lambda messages: read_messages(messages, reader))
    if not found:
        raise ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                f'topic "{topic}" has no messages to infer a table from',
                hint="Write some first, e.g. with millstream produce.",
            )
        )
    is_compacted = "compact" in cluster.admin.topic_settings(topic).get("cleanup.policy", "")
    table = infer_table(found, is_compacted=is_compacted)
    options = {"topic": topic, **{f"properties.{key}": value for key, value in cluster.properties.items()}}
    registries = {
        f"{key.removesuffix('format')}avro-confluent.url": registry or "" for key, value in table.options.items()
        if key.endswith("format") and value == "avro-confluent"
    }  # fmt: skip
    print(f"-- inferred from {len(found):,} message{'' if len(found) == 1 else 's'}")
    print(write_table(table, name or re.sub(r"\W", "_", topic), {**options, **registries}))
    return 0
