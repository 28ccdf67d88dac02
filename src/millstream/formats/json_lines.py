"""Decodes a whole batch of JSON messages as one newline-delimited text.

The reader gives up rather than guess: where Flink's rules are more lenient or merely different, `read` returns None and
the messages go to the exact reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from millstream.formats.arrow_types import arrow_schema, arrow_type
from millstream.formats.json_by_layout import JsonLayoutReader
from millstream.formats.json_nesting import nesting
from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.formats.json_types import holds
from millstream.formats.texts_to_values import (
    UnsettledError,
    base64_bytes,
    bounds,
    join,
    times,
    timestamps,
    values_of,
)
from millstream.formats.value_count import MOST_VALUES, widest_element
from millstream.sql.types import BINARIES, NUMERIC, DataType, TypeRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

_READ_AS_TEXT: Final = frozenset({TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ, *BINARIES})
_QUOTED: Final = NUMERIC | {TypeRoot.BOOLEAN}
_BY_THE_EXACT_READER: Final = (TypeRoot.MAP, TypeRoot.MULTISET, TypeRoot.NULL)
# A column that does not exist, so that the parser counts rows even if no column is needed.
_NO_COLUMN: Final = "\x00"
_BARE_WORDS: Final = ("NaN", "Inf")
_BARE_WORD_IN_MESSAGE: Final = r"[:,\[\s-](?:NaN|Inf|Infinity)\s*[,}\]]"
# Arrow looks up powers of ten by a number's scale, at most 38, unchecked: beyond that it reads out of bounds.
_UNCHECKED_SCALE: Final = r"[:,\[\s]-?[0-9]+(?:\.[0-9]{39}|\.[0-9]{30,}[eE]|(?:\.[0-9]+)?[eE](?:-[0-9]{2}|\+?[0-9]{3}))"

_DEEPEST: Final = 300
_SPACE: Final = np.uint8(0x20)
_BRACE: Final = ord("{")


class JsonLinesReader:
    """With `quoted_values`, numbers and booleans are expected as texts, as some tools write them."""

    def __init__(
        self, columns: tuple[tuple[str, DataType], ...], options: JsonOptions, *, quoted_values: bool = False
    ) -> None:
        self._columns = columns
        self._options = options
        self._schema = arrow_schema(columns)
        self._quoted_values = quoted_values
        self._separator = " " if options.timestamp_standard is TimestampStandard.SQL else "T"
        self.able = not any(holds(type_, root) for _, type_ in columns for root in _BY_THE_EXACT_READER)
        self._widest_element = widest_element(type_ for _, type_ in columns)
        self._has_decimals = any(holds(type_, TypeRoot.DECIMAL) for _, type_ in columns)
        fields = [pa.field(name, _parse_type(type_, quoted_values=quoted_values)) for name, type_ in columns]
        schema = pa.schema(fields or [pa.field(_NO_COLUMN, pa.string())])
        self._parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        self._layouts = JsonLayoutReader(schema)

    def prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        """The messages, without surrounding spaces, and which of them `read` can decode."""
        usable = _plausible(messages)
        if not usable.all():
            messages = _trim(messages)
            usable = _plausible(messages)
        if self._has_decimals:
            usable &= ~pc.match_substring_regex(messages, _UNCHECKED_SCALE).to_numpy(zero_copy_only=False)
        usable &= ~_find_deeply_nested(messages)
        if self._widest_element > 1:
            usable &= ~_full_of_rows(messages, self._widest_element)
        return messages, usable

    def read(self, messages: pa.Array) -> pa.Table | None:
        """One row per message, or None. The messages come from `prepare`."""
        try:
            messages.cast(pa.string())  # rejects anything that is not UTF-8
            parsed = self._read_values(messages)
            if parsed is None:
                return None
            arrays = [self._convert(parsed[name].combine_chunks(), type_) for name, type_ in self._columns]
        except (UnsettledError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if not arrays:
            return parsed.select([])
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _read_values(self, messages: pa.Array) -> pa.Table | None:
        """By layout, and the others by the parser."""
        read = self._layouts.read(messages)
        if read is None:
            return self._parse(messages)
        rows, has_layout = read
        if has_layout.all():
            return rows
        others = self._parse(messages.filter(pa.array(~has_layout)))
        if others is None:
            return None
        order = np.argsort(np.argsort(~has_layout, kind="stable"))
        return pa.concat_tables([rows, others]).take(pa.array(order))

    def _parse(self, messages: pa.Array) -> pa.Table | None:
        text = join(messages, b"\n")
        # One block: the parser splits blocks at line breaks, which a message may have between its fields.
        reading = pj.ReadOptions(use_threads=False, block_size=text.size + 1)
        parsed = pj.read_json(pa.BufferReader(text), read_options=reading, parse_options=self._parsing)
        # A line break within a string is rejected, and after a } no { may follow inside an object:
        # no row spans two messages, so equal counts mean one row for each.
        return parsed if parsed.num_rows == len(messages) else None

    def _convert(self, array: pa.Array, type_: DataType) -> pa.Array:
        if self._options.fail_on_missing_field and array.null_count:
            raise UnsettledError
        match type_.root:
            case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
                return timestamps(array, type_, self._separator)
            case TypeRoot.DATE:
                return array.cast(pa.date32())
            case TypeRoot.TIME:
                return times(array)
            case root if root in BINARIES:
                return base64_bytes(array)
            case root if self._quoted_values and root in _QUOTED:
                return values_of(array, type_)
            case TypeRoot.DECIMAL:
                array.validate(full=True)  # the parser accepts 12345 as DECIMAL(5, 3)
                return array
            case TypeRoot.ARRAY:
                return self._lists(array, type_)
            case TypeRoot.ROW:
                return self._structs(array, type_)
            case _:
                return array

    def _lists(self, array: pa.Array, type_: DataType) -> pa.Array:
        assert type_.element is not None
        elements = self._convert(array.flatten(), type_.element)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
        return pa.ListArray.from_arrays(offsets, elements, mask=array.is_null())

    def _structs(self, array: pa.Array, type_: DataType) -> pa.Array:
        fields = [self._convert(pc.struct_field(array, i), field.type) for i, field in enumerate(type_.fields)]
        return pa.StructArray.from_arrays(fields, fields=list(arrow_type(type_)), mask=array.is_null())


def _trim(messages: pa.Array) -> pa.Array:
    try:
        texts = messages.cast(pa.string())
    except pa.ArrowInvalid:
        return messages
    return pc.ascii_trim(texts, characters=" \t\r\n").cast(pa.binary())


def _plausible(messages: pa.Array) -> NDArray[np.bool_]:
    """Which messages (none NULL) are {…} without a bare NaN, which the parser would accept."""
    starts, ends, data = bounds(messages)
    if not len(data):
        return np.zeros(len(messages), np.bool_)
    braced: NDArray[np.bool_] = (
        (data[starts.clip(max=len(data) - 1)] == ord("{")) & (data[ends - 1] == ord("}")) & (ends > starts)
    )
    if _holds_bare_word(data[starts[0] : ends[-1]]):
        words = pc.match_substring_regex(messages, _BARE_WORD_IN_MESSAGE)
        braced &= ~words.to_numpy(zero_copy_only=False)
    return braced


def _find_deeply_nested(messages: pa.Array) -> NDArray[np.bool_]:
    """Which messages only the exact reader can decide, since it enforces the limit of nesting."""
    deep: NDArray[np.bool_] = pc.binary_length(messages).to_numpy() > _DEEPEST  # counting brackets is not cheap
    if not deep.any() or not _has_brackets_close_together(messages):
        return np.zeros(len(messages), np.bool_)
    of_long = messages.filter(pa.array(deep))
    deep[deep] = sum(pc.count_substring(of_long, bracket).to_numpy() for bracket in ("{", "[")) > _DEEPEST
    for i in np.flatnonzero(deep).tolist():
        deep[i] = nesting(messages[i].as_py()) > _DEEPEST
    return deep


def _has_brackets_close_together(messages: pa.Array) -> bool:
    """Whether any opening bracket may be in the same message as the one so many levels before it."""
    starts, ends, data = bounds(messages)
    text = data[starts[0] : ends[-1]]
    opening = np.flatnonzero(text | _SPACE == _BRACE)  # either bracket with this bit is a brace
    apart = opening[_DEEPEST:] - opening[:-_DEEPEST]
    return bool(len(apart)) and int(apart.min()) < int((ends - starts).max())


def _full_of_rows(messages: pa.Array, width: int) -> NDArray[np.bool_]:
    """Which messages may have too many values, in rows of this width in their lists: the exact reader counts them."""
    most_rows = MOST_VALUES // width
    suspects: NDArray[np.bool_] = pc.binary_length(messages).to_numpy() > most_rows * len("{},")
    if suspects.any():
        of_suspects = messages.filter(pa.array(suspects))
        rows = sum(pc.count_substring(of_suspects, row).to_numpy() for row in ("{", "null"))
        suspects[suspects] = rows > most_rows
    return suspects


def _holds_bare_word(data: NDArray[np.uint8]) -> bool:
    for word in _BARE_WORDS:
        first, second, third = word.encode()
        at = np.flatnonzero(data[:-2] == first)
        if len(at) and ((data[at + 1] == second) & (data[at + 2] == third)).any():
            return True
    return False


def _parse_type(type_: DataType, *, quoted_values: bool) -> pa.DataType:
    match type_.root:
        case root if root in _READ_AS_TEXT or (quoted_values and root in _QUOTED):
            return pa.string()
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return pa.list_(_parse_type(type_.element, quoted_values=quoted_values))
        case TypeRoot.ROW:
            return pa.struct(
                [pa.field(field.name, _parse_type(field.type, quoted_values=quoted_values)) for field in type_.fields]
            )
        case root if root in _BY_THE_EXACT_READER:
            return pa.string()  # never read: `able` is false
        case _:
            return arrow_type(type_)
