"""Collects each batch of rows on the driver, in order, to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import KIND
from millstream.formats.clock_times import with_clock_times
from millstream.formats.row_text import row_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.connectors.local.tables import PrintSink
    from millstream.sql.types import DataType


def print_rows(rows: DataFrame, sink: PrintSink, emit: Callable[[list[str]], None]) -> DataStreamWriter:
    """Passes the lines of each batch to `emit`, which decides where they appear."""
    columns = [(column.name, column.type) for column in sink.table.physical_columns]
    return show_rows(rows, lambda table, kinds: emit(row_lines(table, kinds, sink.prefix)), columns)


def show_rows(
    rows: DataFrame,
    show: Callable[[pa.Table, list[int] | None], None],
    columns: Iterable[tuple[str, DataType | None]] = (),
) -> DataStreamWriter:
    """Passes each batch that has rows to `show`: the values, and the kinds if the stream has any."""
    declared = tuple(columns)

    def collect(batch: DataFrame, _: int) -> None:
        table = with_clock_times(batch.toArrow(), declared)
        if not table.num_rows:
            return
        if KIND not in table.column_names:
            show(table, None)
            return
        kinds = table.column(KIND).to_pylist()
        show(table.drop_columns([KIND]), kinds)

    return rows.writeStream.foreachBatch(collect)
