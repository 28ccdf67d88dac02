"""Kafka values in the `json` format, read into Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.decoded import Decoded, DecodeError, shown
from millstream.formats.json_exact import ExactJsonReader
from millstream.formats.json_lines import JsonLinesReader, plausible
from millstream.formats.json_options import JsonOptions
from millstream.formats.json_types import check_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.sql.types import DataType

# After a failed batch the odd message costs at most so many exact reads.
_SMALL_BATCH: Final = 256
_BATCH_BYTES: Final = 1 << 28


class JsonDecoder:
    """Reads JSON objects (or arrays of them) into rows with the given columns, by Flink's rules."""

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: JsonOptions = JsonOptions(),  # noqa: B008
    ) -> None:
        check_types(columns)
        self._columns = columns
        self._options = options
        self._schema = arrow_schema(columns)
        self._lines = JsonLinesReader(columns, options)
        self._exact = ExactJsonReader(columns, options)
        self._exact_only = not self._lines.able

    def __reduce__(self) -> tuple[object, ...]:
        return JsonDecoder, (self._columns, self._options)
