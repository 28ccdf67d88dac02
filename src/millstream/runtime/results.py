"""What a SELECT shows: each change as a line while it runs, or the final table when it has ended."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millstream.catalog.settings_of_flink import ResultMode
from millstream.changelog import RowKind
from millstream.formats.row_text import row_lines
from millstream.formats.table_text import body_lines, cells_of, columns_of, edge_line, header_line, table_lines
from millstream.plan.operators.roots import Collect
from millstream.runtime.result_order import sort_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from millstream.formats.table_text import TableColumn
    from millstream.plan.operators.node import SortColumn
    from millstream.plan.program import JobPlan

_TAKES_BACK = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


class Result(Protocol):
    def take(self, rows: pa.Table, kinds: Sequence[int] | None) -> None:
        """Receives a batch of changes."""

    def end(self) -> None:
        """Called after the last batch."""


def result_of(plan: JobPlan, emit: Callable[[list[str]], None], *, as_data: bool = False) -> Result:
    """Unless the user chooses, a bounded query shows its final table and an unbounded one its changes.

    `as_data` returns JSON objects instead of text, one per line, in either mode.
    """
    usual = ResultMode.TABLE if plan.is_bounded else ResultMode.CHANGELOG
    mode = plan.settings.result_mode or usual
    if as_data and mode is not ResultMode.TABLE:
        return ChangeObjects(emit)
    match mode:
        case ResultMode.CHANGELOG:
            return ChangeLines(emit)
        case ResultMode.TABLEAU:
            return Tableau(emit)
        case ResultMode.TABLE:
            [root] = plan.roots
            assert isinstance(root, Collect)
            return ResultTable(root.upsert_key, emit, objects if as_data else _frame, root.sorted_by, root.hidden)


class ChangeLines:
    """`+I[1, a]`, a line for each change."""

    def __init__(self, emit: Callable[[list[str]], None]) -> None:
        self._emit = emit

    def take(self, rows: pa.Table, kinds: Sequence[int] | None) -> None:
        self._emit(row_lines(rows, kinds))

    def end(self) -> None:
        pass


class ChangeObjects:
    """`{"kind": "+I", "row": {"id": 1}}`, a line for each change."""

    def __init__(self, emit: Callable[[list[str]], None]) -> None:
        self._emit = emit

    def take(self, rows: pa.Table, kinds: Sequence[int] | None) -> None:
        self._emit(objects(rows, kinds if kinds is not None else [RowKind.INSERT] * rows.num_rows))

    def end(self) -> None:
        pass


class Tableau:
    """A table that gets one row per change; its columns are as wide as the first batch needs."""

    def __init__(self, emit: Callable[[list[str]], None]) -> None:
        self._emit = emit
        self._columns: tuple[TableColumn, ...] = ()
        self._count = 0

    def take(self, rows: pa.Table, kinds: Sequence[int] | None) -> None:
        shown_kinds = kinds if kinds is not None else [RowKind.INSERT] * rows.num_rows
        cells = cells_of(rows, shown_kinds)
        lines = []
        if not self._columns:
            self._columns = columns_of(rows, cells, with_kinds=True)
            lines = [edge_line(self._columns), header_line(self._columns), edge_line(self._columns)]
        self._count += rows.num_rows
        self._emit([*lines, *body_lines(self._columns, cells)])

    def end(self) -> None:
        edge = [edge_line(self._columns)] if self._columns else []
        self._emit([*edge, _format_count(self._count)])


class ResultTable:
    """Folds the changes into the remaining rows, and shows them once, at the end."""

    def __init__(
        self,
        key: tuple[str, ...] | None,
        emit: Callable[[list[str]], None],
        render: Callable[[pa.Table], list[str]],
        order: Sequence[SortColumn] = (),
        hidden: Container[str] = (),
    ) -> None:
        """Columns that are `hidden` may be in the order, and are not shown."""
        self._key = key
        self._emit = emit
        self._render = render
        self._order = order
        self._hidden = hidden
        self._schema: pa.Schema | None = None
        self._by_key: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._rows: Counter[tuple[Any, ...]] = Counter()

    def take(self, rows: pa.Table, kinds: Sequence[int] | None) -> None:
        self._schema = rows.schema
        places = None if self._key is None else [rows.schema.get_field_index(name) for name in self._key]
        texts = [column.to_pylist() for column in rows.columns]
        for position, row in enumerate(zip(*texts, strict=True)):
            takes_back = kinds is not None and kinds[position] in _TAKES_BACK
            if places is None:
                self._rows[_hashable(row)] += -1 if takes_back else 1
                self._by_key[_hashable(row)] = row
            elif takes_back:
                self._by_key.pop(_hashable([row[at] for at in places]), None)
            else:
                self._by_key[_hashable([row[at] for at in places])] = row

    def end(self) -> None:
        if self._schema is None:
            self._emit(self._render(pa.table({})))
            return
        rows = [row for key, row in self._by_key.items() for _ in range(self._rows[key] if self._key is None else 1)]
        rows = sort_rows(rows, self._schema.names, self._order)
        columns = zip(*rows, strict=True) if rows else ([] for _ in self._schema)
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, self._schema, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._emit(self._render(table.select([name for name in table.schema.names if name not in self._hidden])))


def objects(rows: pa.Table, kinds: Sequence[int] | None = None) -> list[str]:
    """Each row as a JSON object, with its kind if `kinds` are passed."""
    kind_fields = [{}] * rows.num_rows if kinds is None else [{"kind": RowKind(kind).symbol} for kind in kinds]
    return [
        json.dumps({**kind, "row": row}, ensure_ascii=False, default=_as_text)
        for kind, row in zip(kind_fields, rows.to_pylist(), strict=True)
    ]


def _as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _frame(rows: pa.Table) -> list[str]:
    frame = table_lines(rows) if rows.num_columns else []
    return [*frame, _format_count(rows.num_rows)]


def _hashable(values: Any) -> tuple[Any, ...]:
    return tuple(repr(value) if isinstance(value, list | dict) else value for value in values)


def _format_count(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
