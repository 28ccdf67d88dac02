"""Splits one line of CSV into fields like Jackson."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from millstream.formats.json_tokens import NO_CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.formats.csv_format import CsvOptions

_LINE_ENDS: Final = "\r\n"
_BLANKS: Final = "".join(map(chr, range(33)))
_ESCAPED: Final = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}


class LineSplitter:
    """Splits the first line of a message; anything after it is ignored."""

    def __init__(self, options: CsvOptions, columns: int) -> None:
        self._options = options
        self._columns = columns

    def fields(self, message: bytes) -> list[str]:
        """The fields of columns. Raises ValueError with the cause."""
        text = message.decode(json.detect_encoding(message)).removeprefix("\ufeff")
        start = _after_comments(text) if self._options.allow_comments else 0
        if start == len(text):
            raise ValueError(NO_CONTENT)
        fields: list[str] = []
        rest = self._split(text, start)
        for field in rest:
            if len(fields) == self._columns:
                self._check_extra(field, rest)
                break
            fields.append(field)
        if self._options.fail_on_missing_columns and len(fields) < self._columns:
            raise ValueError(f"Not enough column values: expected {self._columns}, found {len(fields)}")
        return fields

    def _check_extra(self, field: str, rest: Iterator[str]) -> None:
        if self._options.ignore_trailing_unmappable:
            for _ in rest:  # ignored fields must still be quoted correctly
                pass
            return
        if self._options.allow_trailing_comma:
            field = field.strip(_BLANKS)
            if not field and next(rest, None) is None:
                return
        raise ValueError(
            f"Too many entries: expected at most {self._columns} "
            f'(value #{self._columns} ({len(field)} chars) "{field}")'
        )

    def _split(self, text: str, at: int) -> Iterator[str]:
        more = True
        while more:
            field, at, more = self._field(text, at)
            yield field

    def _field(self, text: str, at: int) -> tuple[str, int, bool]:
        """A field, the start of the next one, and whether there is one."""
        if self._options.trim_spaces:
            while at < len(text) and text[at] <= " " and text[at] not in (self._options.delimiter, *_LINE_ENDS):
                at += 1
        if at < len(text) and text[at] == self._options.quote and text[at] not in _LINE_ENDS:
            return self._read_quoted(text, at + 1)
        return self._read_unquoted(text, at)

    def _read_unquoted(self, text: str, at: int) -> tuple[str, int, bool]:
        out: list[str] = []
        more = False
        while at < len(text):
            character = text[at]
            at += 1
            if character in _LINE_ENDS or character == self._options.delimiter:
                more = character not in _LINE_ENDS
                break
            if character == self._options.escape:
                character = _unescape(text, at)
                at += 1
            out.append(character)
        field = "".join(out)
        return field.rstrip(_BLANKS) if self._options.trim_spaces else field, at, more

    def _read_quoted(self, text: str, at: int) -> tuple[str, int, bool]:
        out: list[str] = []
        while True:
            if at >= len(text):
                raise ValueError("Missing closing quote for value")
            character = text[at]
            at += 1
            if character == self._options.quote:
                if text[at : at + 1] != character:
                    break
                at += 1
            elif character == self._options.escape:
                character = _unescape(text, at)
                at += 1
            out.append(character)
        return "".join(out), *self._skip_to_separator(text, at)

    def _skip_to_separator(self, text: str, at: int) -> tuple[int, bool]:
        while at < len(text):
            character = text[at]
            at += 1
            if character == self._options.delimiter:
                return at, True
            if character in _LINE_ENDS:
                return at, False
            if character > " ":
                expected = f"Expected column separator character ({_describe(self._options.delimiter)}) or end-of-line"
                raise ValueError(f"Unexpected character ({_describe(character)}): {expected}")
        return at, False


def _unescape(text: str, at: int) -> str:
    if at >= len(text):
        raise ValueError("Unexpected EOF in escaped character")
    return _ESCAPED.get(text[at], text[at])


def _after_comments(text: str) -> int:
    at = 0
    while at < len(text):
        if text[at] == "#":
            while at < len(text) and text[at] not in _LINE_ENDS:
                at += 1
        elif text[at] not in " \r\n":
            break
        else:
            at += 1
    return at


def _describe(character: str) -> str:
    return f"'{character}' (code {ord(character)})"
