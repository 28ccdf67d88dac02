"""The reference of connectors and formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.dead_letters import HEADERS
from millstream.connectors.kafka.scan_options import DEAD_LETTER_TOPIC
from millstream.connectors.reference import Entry, OptionEntry, connectors, file_formats, formats

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONNECTORS = """# Connectors

The options in a table's `WITH (…)`, by its `connector`. `millstream options NAME` shows the same in a terminal.
A table may also be declared in the older dialect, with `connector.type`; the older name of a key is listed beside it.
All options are checked when a table is first read or written, before anything starts; `millstream check` also checks
tables that nothing uses. A valid key that has no effect here is accepted, with a notice that gives the reason.
`properties.*` are passed to Kafka's clients: values that these would reject are errors, and a name that resembles one
of theirs causes a notice.
"""
_FORMATS = """# Formats

Formats convert messages to rows and back, by the `format` (or `key.format`, `value.format`) of a Kafka table. The
options of a format begin with its name: `'json.ignore-parse-errors'`, or `'value.json.…'` and `'key.json.…'` if the
format is set by `value.format` or `key.format`. `millstream options NAME` shows the same in a terminal.
"""


_UNREADABLE = f"""## Messages that cannot be read

If the key or value of a message does not match its format and columns, the job fails; the error has the topic, the
partition, the offset, the content and the reason (M5002). Only columns that a query needs are decoded, and
of a ROW in a JSON value only the fields that it needs. There are two
ways to continue instead:

- `ignore-parse-errors` of the formats that have it: fields become NULL, messages are skipped. The job's progress counts
  them as `skipped`.
- `{DEAD_LETTER_TOPIC.key}`: the message goes to that topic unchanged, with key, value and headers, followed by the
  headers below, as UTF-8 text. The job's progress counts them as `dead_letters`.

Messages that would grow out of proportion to their size cannot be read either:

- those whose rows, lists and maps have more than 1,048,576 values plus one for each of their bytes. A missing field
  counts, as it becomes NULL: `[{{}},{{}}]` has 300 values in a table of 150 columns;
- those with a list in the key or the value for which the parts copied for each row (the other half, metadata, headers)
  amount to more than 256 MiB;
- JSON that is nested more than 1,000 levels deep, as in Flink;
- Avro that is nested more than 2,000 levels deep or has more than 65,536 parts that take no bytes.

A dead letter is in Kafka before its batch is committed, so none is lost; a batch that is repeated after a crash writes
its letters again. A table that is read twice by one job writes them once for each. The topic is in the table's own
Kafka cluster, with the same `properties.*`, and must not be one that the table reads; if it is missing, it is created
like the topic of a sink, and accepts messages that are 16 KiB larger than those of the topics that are read. If an
existing topic accepts less, a notice at the start of the job gives the `max.message.bytes` that it needs; a letter that
the topic rejects fails the job, and the error has the topic, partition and offset of the message.

| header | meaning |
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
