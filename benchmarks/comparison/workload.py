"""What a workload is: its data, its query and sink, the expected result, and what cannot express it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from benchmarks.harness.dataset import Dataset

INPUT: Final = "input"
"""The topic and table that each workload reads; `results` is the table that it writes."""


@dataclass(frozen=True, slots=True)
class Sink:
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()
    """The primary key; without one the sink is an insert-only table."""
    format: str = "json"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @property
    def table(self) -> str:
        columns = [f"{name} {type_}" for name, type_ in self.columns]
        return ", ".join([*columns, *([f"PRIMARY KEY ({', '.join(self.key)}) NOT ENFORCED"] if self.key else [])])

    @property
    def options(self) -> str:
        if self.key:
            return f"'connector' = 'upsert-kafka', 'key.format' = '{self.format}', 'value.format' = '{self.format}'"
        return f"'connector' = 'kafka', 'format' = '{self.format}', 'sink.delivery-guarantee' = 'at-least-once'"


@dataclass(frozen=True, slots=True)
class Arrival:
    """How to tell from an output row which input rows have arrived.

    With `ordinal` alone it is the input row whose `page_id` it has; with `group` it is the first so many of a group.
    """

    ordinal: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    title: str
    dataset: Dataset
    rows: int
    sink: Sink
    query: str
    truth: Callable[[pl.DataFrame], pl.DataFrame] | None
    """The table that the sink must hold in the end, from all rows of the dataset. None: whatever Flink writes."""
    progress: pl.Expr
    """What each row of the result contributes to a figure that grows evenly with the rows processed."""
    arrival: Arrival | None = None
    """None leaves the workload out of the latency runs."""
    has_state: bool = True
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Systems that cannot express it, each with the reason."""
    text: str = ""
    """A whole script with parameters, instead of the dataset's table, the sink and the query; a job that ends."""
    flink_text: str = ""
    """Where Flink needs another."""
    write_files: Callable[[Path], None] | None = None
    """What the script finds in its folder."""

    @property
    def ends_by_itself(self) -> bool:
        return bool(self.text)

    def script(self, brokers: str, source: str, output: str, folder: Path = Path(), *, for_flink: bool = False) -> str:
        if self.text:
            text = (for_flink and self.flink_text) or self.text
            return Template(text).substitute(brokers=brokers, input=source, results=output, folder=folder)
        kafka = f"'properties.bootstrap.servers' = '{brokers}'"
        return f"""
CREATE TABLE {INPUT} ({self.dataset.table}) WITH ({self.dataset.options}, 'topic' = '{source}', {kafka});
CREATE TABLE results ({self.sink.table}) WITH ({self.sink.options}, 'topic' = '{output}', {kafka});
INSERT INTO results {self.query};
"""
