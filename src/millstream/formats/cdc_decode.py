"""Decodes Kafka values that describe changes in JSON to rows with their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.changelog import KIND
from millstream.formats.arrow_types import arrow_schema, arrow_type
from millstream.formats.cdc_batch import CdcBatchReader
from millstream.formats.cdc_exact import ExactCdcReader
from millstream.formats.decoded import preview
from millstream.formats.json_types import check_types
from millstream.formats.message_decoder import MessageDecoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from millstream.formats.cdc_format import CdcJsonFormat
    from millstream.sql.types import DataType


class CdcJsonDecoder(MessageDecoder):
    """Decodes change messages. `metadata` names further columns and their keys, e.g. ("t", "source.table")."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        format_: CdcJsonFormat,
        metadata: tuple[tuple[str, str], ...] = (),
    ) -> None:
        check_types(columns)
        self._arguments = columns, format_, metadata
        self._tool = format_.dialect.tool
        keys = {offered.key: offered for offered in format_.dialect.metadata}
        used = tuple(keys[key] for _, key in metadata)
        schema = arrow_schema(columns)
        for (name, _), offered in zip(metadata, used, strict=True):
            schema = schema.append(pa.field(name, arrow_type(offered.type)))
        schema = schema.append(pa.field(KIND, pa.int8()))
        self._batch = CdcBatchReader(columns, format_, used, schema)
        self._exact = ExactCdcReader(columns, format_, used)
        super().__init__(
            schema, reads_batches=self._batch.able, ignores_errors=format_.options.json.ignore_parse_errors
        )

    def __reduce__(self) -> tuple[object, ...]:
        return CdcJsonDecoder, self._arguments

    def _prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        return self._batch.prepare(messages)

    def _read_batch(self, messages: pa.Array) -> tuple[pa.Table, NDArray[np.int64]] | None:
        return self._batch.read(messages)

    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        return self._exact.rows(message)

    def _failure(self, message: bytes, cause: Exception) -> str:
        return f"Corrupt {self._tool} JSON message '{preview(message)}'. {cause}"
