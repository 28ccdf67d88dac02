"""Kafka values in the `json` format, read into Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.decoded import preview
from millstream.formats.json_exact import ExactJsonReader
from millstream.formats.json_lines import JsonLinesReader
from millstream.formats.json_options import JsonOptions
from millstream.formats.json_types import check_types
from millstream.formats.message_decoder import MessageDecoder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.sql.types import DataType


class JsonDecoder(MessageDecoder):
    """Reads JSON objects (or arrays of them) into rows with the given columns, by Flink's rules."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: JsonOptions = JsonOptions(),  # noqa: B008
    ) -> None:
        check_types(columns)
        self._columns = columns
        self._options = options
        self._lines = JsonLinesReader(columns, options)
        self._exact = ExactJsonReader(columns, options)
        super().__init__(
            arrow_schema(columns), reads_batches=self._lines.able, ignores_errors=options.ignore_parse_errors
        )

    def __reduce__(self) -> tuple[object, ...]:
        return JsonDecoder, (self._columns, self._options)

    def _prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        return self._lines.prepare(messages)

    def _read_batch(self, messages: pa.Array) -> tuple[pa.Table, None] | None:
        table = self._lines.read(messages)
        return None if table is None else (table, None)

    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        return self._exact.rows(message)

    def _failure(self, message: bytes, cause: Exception) -> str:
        return f"Failed to deserialize JSON '{preview(message)}'. {cause}"
