"""The reference of connectors and formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.dead_letters import HEADERS
from millstream.connectors.kafka.scan_options import DEAD_LETTER_TOPIC
from millstream.connectors.reference import Entry, OptionEntry, connectors, file_formats, formats

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONNECTORS = """# Connectors

What can stand in a table's `WITH (…)`, by its `connector`. `millstream options NAME` shows the same in a terminal.
A table may also be written in the older dialect, with `connector.type`; what a key is called there stands beside it.
Options are checked when a table is first read or written, all at once, before anything starts; `millstream check`
looks at tables that nothing uses too. A key that is right and does nothing here is accepted, and the reason is told
once. `properties.*` go to Kafka's clients: values that these would refuse are errors, a name much like one of theirs
is told.
"""
_FORMATS = """# Formats

What turns messages into rows and back, by the `format` (or `key.format`, `value.format`) of a Kafka table. The
options of a format stand under its name: `'json.ignore-parse-errors'`, and `'value.json.…'` or `'key.json.…'` where
the format is named by `value.format` or `key.format`. `millstream options NAME` shows the same in a terminal.
"""


_UNREADABLE = f"""## Messages that cannot be read

A message of a Kafka table whose key or value is not what its format and the columns say fails the job, which tells
topic, partition, offset, what stands there and why it cannot be read (M5002). Only columns that a query needs are
looked at. There are two ways to go on instead:

- `ignore-parse-errors` of the formats that have it: fields become NULL, messages are skipped. How many is in the
  job's progress, as `skipped`.
- `{DEAD_LETTER_TOPIC.key}`: the message goes to that topic as it is, with key, value and headers, and with the headers
  below behind its own, as UTF-8 text. How many is in the job's progress, as `dead_letters`.

A message that would grow out of proportion to its size cannot be read either:

- one whose rows, lists and maps have more values than 1,048,576 and one for each of its bytes. A field that is missing
  counts, as it becomes NULL: `[{{}},{{}}]` has 300 values in a table of 150 columns;
- one with a list in its key or its value, where what is copied for each row (the other half, metadata, headers) comes
  to more than 256 MiB;
- JSON that is nested more than 1,000 levels deep, as in Flink;
- Avro that is nested more than 2,000 levels deep or has more than 65,536 parts that take no bytes.

A dead letter is in Kafka before the batch that met it is committed, so none is lost; a batch that is done again after a
crash writes its letters again. So does a table that is read in two places of one job, for each of them. The topic is
one of the table's own Kafka, by the same `properties.*`, and not one that the table reads; where it is missing, it is
created as the topic of a sink is, and takes messages that are 16 KiB larger than those of the topics that are read. One
that is there and takes less is told of when the job starts, with the `max.message.bytes` that it needs; a letter that
it refuses fails the job, which tells topic, partition and offset of the message.

| header | what it says |
|---|---|
"""


def connectors_page() -> str:
    parts = [_CONNECTORS, *(_entry(entry) for entry in connectors()), _unreadable()]
    parts.append("## Formats of `filesystem`\n")
    parts += (_entry(entry, depth=3) for entry in file_formats())
    return "\n".join(parts)


def _unreadable() -> str:
    return _UNREADABLE + "".join(f"| `{header}` | {doc} |\n" for header, doc in HEADERS.items())


def formats_page() -> str:
    return "\n".join([_FORMATS, *(_entry(entry) for entry in formats())])


def _entry(entry: Entry, depth: int = 2) -> str:
    return "\n".join(_lines(entry, "#" * depth)) + "\n"


def _lines(entry: Entry, heading: str) -> Iterator[str]:
    yield f"{heading} `{entry.identifier}`\n"
    yield f"{entry.summary}\n"
    yield from _options(entry.options)
    if entry.metadata:
        yield "| metadata key | type | access | what it is |"
        yield "|---|---|---|---|"
        for part in entry.metadata:
            yield f"| `{part.key}` | {_cell(part.type)} | {part.access} | {_cell(part.doc)} |"
        yield ""
    if entry.legacy_options:
        yield "Only with `connector.type`:\n"
        yield from _options(entry.legacy_options)


def _options(options: tuple[OptionEntry, ...]) -> Iterator[str]:
    if not options:
        yield "It has no options of its own.\n"
        return
    yield "| option | needed | default | type | role | meaning |"
    yield "|---|---|---|---|---|---|"
    for option in options:
        key = f"`{option.key}`" + "".join(f"<br>`{older}`" for older in option.legacy)
        default = f"`{_cell(option.default)}`" if option.default else ""
        type_ = f"{option.type}, secret" if option.is_secret else option.type
        yield f"| {key} | {option.needed} | {default} | {type_} | {option.role} | {_meaning(option)} |"
    yield ""


def _meaning(option: OptionEntry) -> str:
    values = "".join(f"<br>`{value}`{f': {meaning}' if meaning else ''}" for value, meaning in option.values)
    effect = f" *No effect here: {option.without_effect}*" if option.without_effect else ""
    return _cell(f"{option.doc}{values}{effect}".strip())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
