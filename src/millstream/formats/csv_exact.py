"""Decodes one CSV message at a time, by exactly the rules of Flink's csv format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

from millstream.formats import java_text
from millstream.formats.csv_tokens import LineSplitter
from millstream.sql.types import BINARIES, CHARACTER, DataType, TypeRoot

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from millstream.formats.csv_format import CsvOptions

    Reader: TypeAlias = Callable[[str], object]

T = TypeVar("T")

_BITS: Final = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}


class ExactCsvReader:
    """Decodes messages to rows with one value per needed column, as `pa.array` accepts them."""

    def __init__(self, columns: Sequence[tuple[str, DataType]], needed: Sequence[int], options: CsvOptions) -> None:
        self._options = options
        self._arity = len(columns)
        self._splitter = LineSplitter(options, len(columns))
        self._readers = [(i, columns[i][0], self._reader(columns[i][1])) for i in needed]

    def rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        """The row of a message. Raises ValueError with the cause."""
        fields = self._splitter.fields(message)
        self._check_arity(self._arity, len(fields))
        return [
            [_read_field(name, read, fields[i]) if i < len(fields) else None for i, name, read in self._readers]
        ], True

    def _check_arity(self, expected: int, actual: int) -> None:
        if expected > actual and not self._options.ignore_parse_errors:
            raise ValueError(f"Row length mismatch. {expected} fields expected but was {actual}.")

    def _reader(self, type_: DataType) -> Reader:
        if type_.root is TypeRoot.ARRAY:
            assert type_.element is not None
            element = self._nullable(scalar_reader(type_.element))
            return self._lenient(lambda text: [element(part) for part in self._elements(text)])
        if type_.root is TypeRoot.ROW:
            return self._lenient(self._row(type_))
        return self._nullable(scalar_reader(type_))

    def _row(self, type_: DataType) -> Reader:
        readers = [(field.name, self._nullable(scalar_reader(field.type))) for field in type_.fields]

        def read(text: str) -> object:
            elements = self._elements(text)
            if not elements:
                return None
            self._check_arity(len(readers), len(elements))
            # If there are too few fields, the rest are NULL.
            texts = dict(zip((name for name, _ in readers), elements, strict=False))
            return {name: _read_field(name, read, texts[name]) if name in texts else None for name, read in readers}

        return read

    def _elements(self, text: str) -> list[str]:
        separator = self._options.element_delimiter
        if separator not in text and not java_text.trim(text):
            return []
        parts = text.split(separator)
        return [java_text.trim(part) for part in parts] if self._options.trim_spaces else parts

    def _nullable(self, read: Reader) -> Reader:
        nothing = {self._options.null_literal} | ({""} if self._options.empty_string_as_null else set())
        return self._lenient(lambda text: None if text in nothing else read(text))

    def _lenient(self, read: Reader) -> Reader:
        if not self._options.ignore_parse_errors:
            return read

        def read_or_null(text: str) -> object:
            try:
                return read(text)
            except ValueError:
                return None

        return read_or_null


def _read_field(name: str, read: Reader, text: str) -> object:
    try:
        return read(text)
    except ValueError as cause:
        raise ValueError(f"Fail to deserialize at field: {name}. {cause}") from None


def scalar_reader(type_: DataType) -> Reader:
    match type_.root:
        case root if root in CHARACTER:
            return str
        case root if root in BINARIES:
            return _bytes
        case root if root in _BITS:
            return _integer_reader(_BITS[root])
        case TypeRoot.BOOLEAN:
            return lambda text: java_text.trim(text).lower() == "true"
        case TypeRoot.FLOAT:
            return lambda text: _number(java_text.parse_float, java_text.trim(text))
        case TypeRoot.DOUBLE:
            return lambda text: _number(java_text.parse_double, java_text.trim(text))
        case TypeRoot.DECIMAL:
            precision, scale = cast("int", type_.precision), cast("int", type_.scale)
            return lambda text: _number(lambda number: java_text.parse_decimal(number, precision, scale), text)
        case TypeRoot.DATE:
            return lambda text: _parse_time(java_text.parse_sql_date, text)
        case TypeRoot.TIME:
            return lambda text: _parse_time(java_text.parse_iso_time, text)
        case TypeRoot.TIMESTAMP_LTZ:
            return lambda text: _timestamp(text, java_text.SQL_TIMESTAMP_LTZ)
        case _:
            return lambda text: _timestamp(text, java_text.SQL_TIMESTAMP)


def _integer_reader(bits: int) -> Reader:
    limit = 1 << (bits - 1)

    def read(text: str) -> int:
        integer = _number(java_text.parse_integer, java_text.trim(text))
        if not -limit <= integer < limit:
            small = bits < 32  # noqa: PLR2004
            raise ValueError(f'Value out of range. Value:"{text}" Radix:10' if small else f'For input string: "{text}"')
        return integer

    return read


def _number(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f'For input string: "{text}"') from None


def _parse_time(parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f"Text '{text}' could not be parsed") from None


def _timestamp(text: str, pattern: re.Pattern[str]) -> int:
    return _parse_time(lambda moment: java_text.parse_timestamp(moment, pattern), java_text.trim(text))


def _bytes(text: str) -> bytes:
    try:
        return java_text.parse_base64(java_text.trim(text))
    except ValueError:
        raise ValueError("Unable to deserialize byte array.") from None
