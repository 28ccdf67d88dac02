"""An inferred table as CREATE TABLE, with comments where the sample leaves doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.sql.render import quote_text, write_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.topics.inference import InferredColumn, InferredTable

_DELAY: Final = "INTERVAL '5' SECOND"


def write_table(table: InferredTable, name: str, options: dict[str, str]) -> str:
    """`options` are those that reach the topic."""
    return "\n".join(_lines(table, name, options))


def _lines(table: InferredTable, name: str, options: dict[str, str]) -> Iterator[str]:
    yield from (f"-- {note}" for note in table.notes)
    parts = [(_column(column), column.type.doubt) for column in table.columns]
    if (time := _time_of(table)) is not None:
        parts.append((f"WATERMARK FOR {time} AS {time} - {_DELAY}", "how much later rows may come is a guess"))
    if table.primary_key:
        parts.append((f"PRIMARY KEY ({', '.join(map(write_name, table.primary_key))}) NOT ENFORCED", None))
    yield f"CREATE TABLE {write_name(name)} ("
    for number, (part, doubt) in enumerate(parts, 1):
        comma = "," if number < len(parts) else ""
        yield f"  {part}{comma}{f'  -- {doubt}' if doubt else ''}"
    yield ") WITH ("
    connector = "upsert-kafka" if table.primary_key else "kafka"
    start = {} if table.primary_key else {"scan.startup.mode": "earliest-offset"}
    every = {"connector": connector, **options, **start, **table.options}
    yield ",\n".join(f"  {quote_text(key)} = {quote_text(value)}" for key, value in every.items())
    yield ");"


def _column(column: InferredColumn) -> str:
    if column.expression is not None:
        return f"{write_name(column.name)} AS TO_TIMESTAMP_LTZ({write_name(column.expression)}, 3)"
    return f"{write_name(column.name)} {column.type.sql}"


def _time_of(table: InferredTable) -> str | None:
    times = (write_name(column.name) for column in table.columns if column.type.sql.startswith("TIMESTAMP"))
    return None if table.primary_key else next(times, None)
