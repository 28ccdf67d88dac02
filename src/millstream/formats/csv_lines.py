"""Decodes a whole batch of CSV messages as one text.

The reader gives up rather than guess: where Flink's rules are more lenient or merely different, `read` returns None and
the messages go to the exact reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from millstream.formats.arrow_types import arrow_schema, arrow_type
from millstream.formats.texts_to_values import UnsettledError, bounds, join, values_of
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from millstream.formats.csv_format import CsvOptions

_FIRST_OF_OTHER_ENCODINGS: Final = (0x00, 0xEF, 0xFE, 0xFF)
_LAST_ASCII: Final = 0x7F


class CsvLinesReader:
    def __init__(self, columns: Sequence[tuple[str, DataType]], needed: Sequence[int], options: CsvOptions) -> None:
        self._options = options
        self._needed = [columns[i] for i in needed]
        self._schema = arrow_schema(self._needed)
        special = [options.delimiter, options.quote or "", options.element_delimiter]
        self.able = (
            all(ord(character) <= _LAST_ASCII for character in "".join(special))
            and options.delimiter not in "\r\n"
            and options.quote != options.delimiter
            and not options.trim_spaces
            and options.escape is None
        )
        if not self.able:
            return
        names = [str(i) for i in range(len(columns))]
        self._names = [names[i] for i in needed]
        self._reading = {"column_names": names, "use_threads": False}
        self._parsing = pcsv.ParseOptions(
            delimiter=options.delimiter, quote_char=options.quote or False, ignore_empty_lines=False
        )
        nulls = [
            text for text in (options.null_literal, "" if options.empty_string_as_null else None) if text is not None
        ]
        self._converting = pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=self._names or None,
            null_values=nulls,
            strings_can_be_null=bool(nulls),
            quoted_strings_can_be_null=True,
        )
        self._well_quoted = _well_quoted_pattern(options)

    def plausible(self, messages: pa.Array) -> NDArray[np.bool_]:
        """Which messages (none NULL) `read` can decode: one line of UTF-8, with quotes around whole fields only."""
        starts, ends, data = bounds(messages)
        if not len(data):
            return np.zeros(len(messages), np.bool_)
        first = data[starts.clip(max=len(data) - 1)]
        usable: NDArray[np.bool_] = (ends > starts) & ~np.isin(first, _FIRST_OF_OTHER_ENCODINGS)
        if self._options.allow_comments:
            usable &= (first != ord("#")) & (first != ord(" "))
        text = data[starts[0] : ends[-1]]
        for character in (0, ord("\r"), ord("\n")):
            if (text == character).any():
                holding = pc.match_substring(messages, bytes([character])).to_numpy(zero_copy_only=False)
                usable &= ~holding
        if self._options.quote and (text == ord(self._options.quote)).any():
            usable &= pc.match_substring_regex(messages, self._well_quoted).to_numpy(zero_copy_only=False)
        return usable

    def read(self, messages: pa.Array) -> pa.Table | None:
        """One row per message, or None."""
        try:
            text = join(messages, b"\n")
            reading = pcsv.ReadOptions(**self._reading, block_size=text.size + 1)
            parsed = pcsv.read_csv(pa.BufferReader(text), reading, self._parsing, self._converting)
            if parsed.num_rows != len(messages):
                return None
            if not self._needed:
                return parsed.select([])
            arrays = [
                self._column(parsed[name].combine_chunks(), type_)
                for name, (_, type_) in zip(self._names, self._needed, strict=True)
            ]
        except (UnsettledError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _column(self, texts: pa.Array, type_: DataType) -> pa.Array:
        if type_.root is TypeRoot.ARRAY:
            assert type_.element is not None
            offsets, elements = self._elements(texts)
            return pa.ListArray.from_arrays(offsets, values_of(elements, type_.element))
        if type_.root is TypeRoot.ROW:
            return self._structs(texts, type_)
        return values_of(texts, type_)

    def _elements(self, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Where the elements of each text start, and all elements, NULL where they are the NULL literal."""
        # An array has no NULL literal of its own: the literal is its only element.
        if texts.null_count:
            raise UnsettledError
        lists = pc.split_pattern(texts, self._options.element_delimiter)
        if pc.any(pc.equal(pc.utf8_length(pc.ascii_trim_whitespace(texts)), 0)).as_py():
            raise UnsettledError
        elements = lists.flatten()
        if self._options.empty_string_as_null:
            elements = _replace_null_literals(elements, "")
        if self._options.null_literal is not None:
            elements = _replace_null_literals(elements, self._options.null_literal)
        return lists.offsets, elements

    def _structs(self, texts: pa.Array, type_: DataType) -> pa.Array:
        offsets, elements = self._elements(texts)
        arity = len(type_.fields)
        if not (np.diff(offsets.to_numpy()) == arity).all():
            raise UnsettledError
        fields = [
            values_of(elements.take(pa.array(np.arange(i, len(elements), arity))), field.type)
            for i, field in enumerate(type_.fields)
        ]
        return pa.StructArray.from_arrays(fields, fields=list(arrow_type(type_)))


def _replace_null_literals(texts: pa.Array, literal: str) -> pa.Array:
    return pc.if_else(pc.equal(texts, literal), pa.scalar(None, pa.string()), texts)


def _well_quoted_pattern(options: CsvOptions) -> str:
    """A regular expression for lines in which quoted fields are quoted from their first to their last character."""
    if options.quote is None:
        return ""
    quote, delimiter = (re.escape(character) for character in (options.quote, options.delimiter))
    field = rf"(?:{quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{quote}{delimiter}]*)"
    return rf"(?s)\A{field}(?:{delimiter}{field})*\z"
