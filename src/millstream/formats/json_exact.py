"""Decodes one JSON message at a time, by exactly the rules of Flink's json format.

It handles whatever the batch reader cannot decide. Values become what `pa.array` accepts for their column: dates, times
and timestamps are integers. Where Flink loses its place after an invalid nested value (ignore-parse-errors), only the
value is NULL here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from millstream.formats import java_text
from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.formats.json_tokens import (
    NO_CONTENT,
    FractionToken,
    IntegerToken,
    JsonObject,
    parse,
    token_text,
    tree_text,
)
from millstream.formats.json_types import holds
from millstream.formats.value_count import ValueCount, row_width, width
from millstream.sql.types import BINARIES, CHARACTER, INT, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    Reader: TypeAlias = Callable[[object], object]

_BITS: Final = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
    TypeRoot.INTERVAL_YEAR_MONTH: 32,
    TypeRoot.INTERVAL_DAY_TIME: 64,
}


class ExactJsonReader:
    """Decodes messages to rows, each a list with one value per column.

    With `of_trees`, as Flink's change formats do: from a tree of values instead of a stream of tokens.
    """

    def __init__(
        self,
        columns: tuple[tuple[str, DataType], ...],
        options: JsonOptions,
        *,
        of_trees: bool = False,
        count: ValueCount | None = None,
    ) -> None:
        self._options = options
        self._of_trees = of_trees
        self._count = ValueCount() if count is None else count
        self._width = row_width(type_ for _, type_ in columns)
        self.exact_fractions = any(holds(type_, TypeRoot.DECIMAL) for _, type_ in columns)
        self.row_of = self._row(columns)

    def rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        """The rows of a message, and whether all of it was decoded. Raises the cause."""
        self._count.begin(message)
        root = parse(message)
        if isinstance(root, JsonObject):
            return [self.row_of(root)], True
        if not isinstance(root, list):
            raise ValueError(NO_CONTENT)  # noqa: TRY004
        self._count.add(len(root), self._width)
        rows = [self.row_of(element) for element in root if isinstance(element, JsonObject)]
        complete = len(rows) == len(root)
        if not complete and not self._options.ignore_parse_errors:
            raise ValueError("Illegal JSON object data...")
        return rows, complete

    def _row(self, fields: Iterable[tuple[str, DataType]]) -> Callable[[JsonObject], list[object]]:
        readers = [(name, self._nullable(type_)) for name, type_ in fields]
        positions = {name: (i, read) for i, (name, read) in enumerate(readers)}
        arity = len(positions)
        must_be_complete = self._options.fail_on_missing_field

        def read_row(members: JsonObject) -> list[object]:
            row: list[object] = [None] * arity
            # Flink stops once it has seen as many fields as the row has, counting repeated ones.
            unseen = arity
            for name, value in members:
                if unseen == 0:
                    break
                if (found := positions.get(name)) is not None:
                    position, read = found
                    try:
                        row[position] = read(value)
                    except ValueError:
                        raise ValueError(f"Fail to deserialize at field: {name}.") from None
                    unseen -= 1
            if unseen and must_be_complete:
                raise ValueError("Some field is missing in the JSON data.")
            return row

        return read_row

    def _nullable(self, type_: DataType) -> Reader:
        read = self._reader(type_)
        if not self._options.ignore_parse_errors:
            return lambda value: None if value is None else read(value)

        def read_or_null(value: object) -> object:
            try:
                return None if value is None else read(value)
            except ValueError:
                return None

        return read_or_null

    def _reader(self, type_: DataType) -> Reader:
        match type_.root:
            case root if root in CHARACTER:
                return self._text
            case TypeRoot.DECIMAL:
                return _decimal_reader(type_, trims=not self._of_trees)
            case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
                return self._timestamp_reader(type_.root)
            case TypeRoot.ARRAY:
                assert type_.element is not None
                return _array_reader(self._nullable(type_.element), width(type_.element), self._count)
            case TypeRoot.MAP:
                assert type_.element is not None
                return self._map_reader(type_.element)
            case TypeRoot.MULTISET:
                return self._map_reader(INT)
            case TypeRoot.ROW:
                return self._nested_row_reader(type_)
            case root if root in _BITS:
                return _integer_reader(root)
            case root if root in BINARIES:
                return _bytes_of_node if self._of_trees else _bytes
            case root:
                return _SCALARS[root]

    def _map_reader(self, element: DataType) -> Reader:
        read, values = self._nullable(element), 1 + width(element)

        def read_map(value: object) -> list[tuple[str, object]]:
            if not isinstance(value, JsonObject):
                if self._of_trees:
                    return []
                raise ValueError("Illegal JSON map data...")
            self._count.add(len(value), values)
            return list({java_text.encodable(name): read(member) for name, member in value}.items())

        return read_map

    def _text(self, value: object) -> str:
        text = tree_text(value, exact_fractions=self.exact_fractions) if _is_nested(value) else token_text(value)
        return java_text.encodable(text)

    def _timestamp_reader(self, root: TypeRoot) -> Reader:
        zoned = root is TypeRoot.TIMESTAMP_LTZ
        if self._options.timestamp_standard is TimestampStandard.SQL:
            pattern = java_text.SQL_TIMESTAMP_LTZ if zoned else java_text.SQL_TIMESTAMP
        else:
            pattern = java_text.ISO_TIMESTAMP_LTZ if zoned else java_text.ISO_TIMESTAMP
        return lambda value: java_text.parse_timestamp(token_text(value), pattern)

    def _nested_row_reader(self, type_: DataType) -> Reader:
        names = [field.name for field in type_.fields]
        read_row = self._row((field.name, field.type) for field in type_.fields)

        def read(value: object) -> Mapping[str, object]:
            if not isinstance(value, JsonObject):
                raise ValueError("Illegal JSON object data...")  # noqa: TRY004
            return dict(zip(names, read_row(value), strict=True))

        return read


def _is_nested(value: object) -> bool:
    return isinstance(value, (JsonObject, list))


def _boolean(value: object) -> bool:
    return value if isinstance(value, bool) else java_text.trim(token_text(value)).lower() == "true"


def _integer_reader(root: TypeRoot) -> Reader:
    limit = 1 << (_BITS[root] - 1)
    truncates = _BITS[root] >= 32  # noqa: PLR2004

    def read(value: object) -> int:
        if truncates and isinstance(value, FractionToken):
            number = float(value)
            # Java compares as doubles and saturates, so 2^63 itself is accepted as the largest BIGINT.
            if not -limit <= number <= float(limit - 1):
                raise ValueError(value)
            return min(int(number), limit - 1)
        if isinstance(value, IntegerToken):
            integer = int(value)
        else:
            integer = java_text.parse_integer(java_text.trim(token_text(value)))
        if not -limit <= integer < limit:
            raise ValueError(integer)
        return integer

    return read


def _decimal_reader(type_: DataType, *, trims: bool) -> Reader:
    precision, scale = cast("int", type_.precision), cast("int", type_.scale)

    def read(value: object) -> object:
        text = token_text(value)
        return java_text.parse_decimal(java_text.trim(text) if trims else text, precision, scale)

    return read


def _bytes(value: object) -> bytes:
    if not isinstance(value, str) or isinstance(value, (IntegerToken, FractionToken)):
        raise ValueError("not a text")  # noqa: TRY004
    return java_text.parse_base64(value)


def _bytes_of_node(value: object) -> bytes | None:
    """A node that is not a text has no bytes, which is not an error."""
    if not isinstance(value, str) or isinstance(value, (IntegerToken, FractionToken)):
        return None
    return java_text.parse_base64(java_text.trim(value))


def _array_reader(read: Reader, values: int, count: ValueCount) -> Reader:
    def read_array(value: object) -> list[object]:
        if not isinstance(value, list):
            raise ValueError("Illegal JSON array data...")  # noqa: TRY004
        count.add(len(value), values)
        return [read(element) for element in value]

    return read_array


_SCALARS: Final[dict[TypeRoot, Reader]] = {
    TypeRoot.BOOLEAN: _boolean,
    TypeRoot.FLOAT: lambda value: java_text.parse_float(java_text.trim(token_text(value))),
    TypeRoot.DOUBLE: lambda value: java_text.parse_double(java_text.trim(token_text(value))),
    TypeRoot.DATE: lambda value: java_text.parse_date(token_text(value)),
    TypeRoot.TIME: lambda value: java_text.parse_time(token_text(value)),
    TypeRoot.NULL: lambda _: None,
}
