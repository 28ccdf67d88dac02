"""`connector` = `datagen`: generated rows, to try out a query without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.declaration import ConnectorDeclaration
from millstream.connectors.local.datagen_options import (
    COLLECTIONS,
    COUNTABLE,
    DECLARED_FIELD_OPTIONS,
    DEFAULT_COLLECTION_LENGTH,
    DEFAULT_LENGTH,
    END,
    FIELD_OPTIONS,
    FIELDS,
    FIXED_LENGTH,
    GENERATED,
    KIND,
    LENGTH,
    MAX,
    MAX_PAST,
    MIN,
    NULL_RATE,
    NUMBER_OF_ROWS,
    ROWS_PER_SECOND,
    START,
    VAR_LEN,
    VARIABLE_LENGTH,
    Kind,
    default_bounds,
    field_option,
)
from millstream.connectors.local.options import finish, not_a_sink
from millstream.connectors.local.tables import DatagenSource, Generator
from millstream.errors import Code, Diagnostic
from millstream.spelling import nearest
from millstream.sql.types import INTEGERS, NESTED, NUMERIC, DataType, TypeRoot

if TYPE_CHECKING:
    from typing import NoReturn

    from millstream.catalog.option_reader import OptionReader
    from millstream.connectors.local.datagen_options import FieldOption
    from millstream.sql.statements import PhysicalColumn

IDENTIFIER: Final = "datagen"
DECLARATION: Final = ConnectorDeclaration(
    IDENTIFIER,
    "Generated rows, the same in every run: random values or sequences, column by column.",
    (ROWS_PER_SECOND, NUMBER_OF_ROWS, *DECLARED_FIELD_OPTIONS),
    gives="inserts",
)


def resolve_sink(reader: OptionReader) -> NoReturn:
    not_a_sink(reader, IDENTIFIER, "Write into a table of connector 'print' or 'blackhole' instead.")


def resolve_source(reader: OptionReader) -> DatagenSource:
    rows_per_second = reader.get(ROWS_PER_SECOND)
    number_of_rows = reader.get(NUMBER_OF_ROWS)
    fields = _FieldReader(reader)
    generators = tuple(fields.column(column) for column in reader.table.physical_columns)
    fields.refuse_leftovers()
    counts = [end - start + 1 for start, end in (g.sequence for g in generators if g.sequence is not None)]
    if number_of_rows is not None:
        counts.append(number_of_rows)
    if counts:
        reader.without_effect(ROWS_PER_SECOND.key, "a source that ends produces its rows at once")
    notices = finish(reader, IDENTIFIER)
    assert rows_per_second is not None
    return DatagenSource(
        reader.table, generators, rows_per_second, min(counts, default=None), notices, places=reader.places
    )


class _FieldReader:
    """Reads the options under `fields.`, column by column and part by part."""

    def __init__(self, reader: OptionReader) -> None:
        self._reader = reader
        self._unread = {FIELDS + key for key in reader.with_prefix(FIELDS)}

    def column(self, column: PhysicalColumn) -> Generator:
        kind = self._kind(column)
        if kind is Kind.SEQUENCE:
            return self._sequence(column)
        return self._random(column, column.name, column.type)

    def refuse_leftovers(self) -> None:
        names = [column.name for column in self._reader.table.physical_columns]
        for key in sorted(self._unread):
            under = key.removeprefix(FIELDS)
            if any(under.startswith(f"{name}.") for name in names):
                options = ", ".join([KIND.key, *(option.key for option in self._allowed_options(under))])
                self._reader.report(
                    Code.UNDEFINED_OPTION,
                    f"connector 'datagen' has no option '{key}'",
                    key,
                    detail=f"A column has: {options}. Only a column itself, not a part of it, has a kind.",
                )
                continue
            near = nearest(under.split(".")[0], names)
            self._reader.report(
                Code.UNDEFINED_COLUMN,
                f"option '{key}' does not name a generated column of table \"{self._reader.table.name}\"",
                key,
                hint=f"Did you mean '{FIELDS}{near}.…'?" if near else f"Columns: {', '.join(names)}.",
            )

    def _allowed_options(self, under: str) -> list[FieldOption]:
        """The options that a column can have; one with parts can have those of its parts too."""
        types = [c.type for c in self._reader.table.physical_columns if under.startswith(f"{c.name}.")]
        return [o for o in FIELD_OPTIONS if any(type_.root in o.fits or type_.root in NESTED for type_ in types)]

    def _kind(self, column: PhysicalColumn) -> Kind:
        key = f"{FIELDS}{column.name}.{KIND.key}"
        self._unread.discard(key)
        kind = self._reader.get(KIND, f"{FIELDS}{column.name}.")
        if kind is Kind.SEQUENCE and column.type.root not in COUNTABLE:
            self._reader.report(
                Code.CONFLICTING_OPTIONS,
                f'column "{column.name}" of type {column.type} cannot be a sequence',
                key,
                hint="Numbers, texts and binaries can; leave the kind out for random values.",
            )
        return kind or Kind.RANDOM

    def _sequence(self, column: PhysicalColumn) -> Generator:
        values = self._values(column.name, column.type, Kind.SEQUENCE)
        for option in (START, END):
            key = f"{FIELDS}{column.name}.{option.key}"
            if not self._reader.has(key) and column.type.root in COUNTABLE:
                self._reader.report(
                    Code.MISSING_OPTION,
                    f"a sequence needs option '{key}'",
                    f"{FIELDS}{column.name}.{KIND.key}",
                    hint=f"Add '{key}' = '…'. {option.doc}",
                )
        start, end = values.get(START.key), values.get(END.key)
        if start is None or end is None:
            return Generator(column.name, column.type)
        if start > end:
            self._reader.report(
                Code.INVALID_OPTION_VALUE,
                f'the sequence of column "{column.name}" ends before it starts',
                f"{FIELDS}{column.name}.{END.key}",
                detail=f"It starts at {start} and ends at {end}.",
            )
        return Generator(column.name, column.type, sequence=(start, end))

    def _random(self, column: PhysicalColumn, path: str, type_: DataType) -> Generator:
        if type_.root not in GENERATED:
            self._reader.problems.append(
                Diagnostic(
                    Code.UNSUPPORTED_TYPE,
                    f"connector 'datagen' cannot generate column \"{column.name}\" of type {type_}",
                    column.span,
                )
            )
            return Generator(path, type_)
        values = self._values(path, type_, Kind.RANDOM)
        least, greatest = default_bounds(type_) if type_.root in NUMERIC else (0, 0)
        least, greatest = _option_value(values, MIN, least), _option_value(values, MAX, greatest)
        if least > greatest:
            self._reader.report(
                Code.INVALID_OPTION_VALUE,
                f'the least value of "{path}" is above the greatest',
                f"{FIELDS}{path}.{MIN.key}",
                detail=f"It has min {least:{_format_type(type_)}} and max {greatest:{_format_type(type_)}}.",
            )
        rate = _option_value(values, NULL_RATE, 0.0)
        if rate and not type_.nullable:
            self._reader.report(
                Code.CONFLICTING_OPTIONS,
                f"\"{path}\" is NOT NULL, so its option '{NULL_RATE.key}' must be 0",
                f"{FIELDS}{path}.{NULL_RATE.key}",
            )
        return Generator(
            path=path,
            type=type_,
            bounds=(least, greatest),
            length=_option_value(values, LENGTH, _default_length(type_)),
            varies_in_length=_option_value(values, VAR_LEN, False),
            max_past_ms=_option_value(values, MAX_PAST, 0),
            null_rate=rate,
            parts=tuple(self._random(column, f"{path}.{name}", part) for name, part in _parts(type_)),
        )

    def _values(self, path: str, type_: DataType, kind: Kind) -> dict[str, Any]:
        """The values of all options of a part; those that do not fit its type are problems."""
        under = f"{FIELDS}{path}."
        self._unread.difference_update(under + option.key for option in FIELD_OPTIONS)
        values = {}
        for option in FIELD_OPTIONS:
            why = _why_unsuitable(option, type_, kind, under)
            if why and self._reader.has(under + option.key):
                self._reader.report(
                    Code.CONFLICTING_OPTIONS,
                    f"option '{under}{option.key}' does not fit \"{path}\"",
                    under + option.key,
                    detail=why,
                )
            elif not why and (value := self._reader.get(field_option(option, type_), under)) is not None:
                values[option.key] = value
        return values


def _option_value(values: dict[str, Any], option: FieldOption, default: Any) -> Any:
    return values.get(option.key, default)


def _format_type(type_: DataType) -> str:
    return "d" if type_.root in INTEGERS else "g"


def _why_unsuitable(option: FieldOption, type_: DataType, kind: Kind, under: str) -> str | None:
    if option is LENGTH and type_.root in FIXED_LENGTH:
        return f"The length of {type_} is fixed by its type."
    if type_.root not in option.fits:
        return f"It is for other types than {type_}."
    if option.kind is not kind:
        return f"It is for values of kind {option.kind}, and '{under}{KIND.key}' is {kind}."
    return None


def _default_length(type_: DataType) -> int:
    if type_.root in COLLECTIONS:
        return DEFAULT_COLLECTION_LENGTH
    if type_.root in FIXED_LENGTH:
        return type_.precision or 1
    return (type_.precision or DEFAULT_LENGTH) if type_.root in VARIABLE_LENGTH else 0


def _parts(type_: DataType) -> list[tuple[str, DataType]]:
    match type_.root:
        case TypeRoot.ROW:
            return [(field.name, field.type) for field in type_.fields]
        case TypeRoot.ARRAY | TypeRoot.MULTISET:
            assert type_.element is not None
            return [("element", type_.element)]
        case TypeRoot.MAP:
            assert type_.key is not None
            assert type_.element is not None
            return [("key", type_.key), ("value", type_.element)]
        case _:
            return []
