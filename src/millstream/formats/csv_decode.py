"""Kafka values in the `csv` format, read into Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.csv_exact import ExactCsvReader
from millstream.formats.csv_format import CsvOptions
from millstream.formats.csv_lines import CsvLinesReader
from millstream.formats.decoded import preview
from millstream.formats.message_decoder import MessageDecoder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.sql.types import DataType


class CsvDecoder(MessageDecoder):
    """Decodes lines to rows. Fields are identified by position, so all columns are passed; `needed` are kept."""

    empty_says_nothing = False

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: CsvOptions = CsvOptions(),  # noqa: B008
        needed: tuple[str, ...] | None = None,
    ) -> None:
        self._arguments = columns, options, needed
        names = [name for name, _ in columns]
        positions = [names.index(name) for name in (names if needed is None else needed)]
        self._lines = CsvLinesReader(columns, positions, options)
        self._exact = ExactCsvReader(columns, positions, options)
        super().__init__(
            arrow_schema(columns[i] for i in positions),
            reads_batches=self._lines.able,
            ignores_errors=options.ignore_parse_errors,
        )

    def __reduce__(self) -> tuple[object, ...]:
        return CsvDecoder, self._arguments

    def _prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        return messages, self._lines.plausible(messages)

    def _read_batch(self, messages: pa.Array) -> tuple[pa.Table, None] | None:
        table = self._lines.read(messages)
        return None if table is None else (table, None)

    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        return self._exact.rows(message)

    def _failure(self, message: bytes, cause: Exception) -> str:
        return f"Failed to deserialize CSV row '{preview(message)}'. {cause}"
