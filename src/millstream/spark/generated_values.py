"""One generated value as a Spark expression over the number and time of its row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nextafter
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.types import spark_type
from millstream.sql.types import BINARIES, CHARACTER, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from millstream.connectors.local.tables import Generator

_HEX_DIGITS: Final = 16
"""The number of hexadecimal digits in a 64-bit hash."""
_MAX_COUNT: Final = 10
"""The maximum number of occurrences of an element in a MULTISET."""
_MAX_SPAN: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Moment:
    """The position in the stream at which a value is generated."""

    row: Column
    time: Column
    seed: Column
    """Random values depend on this, the row and the path of the part."""

    def of_element(self, index: Column) -> Moment:
        """The position of one element of a collection."""
        return replace(self, seed=F.xxhash64(self.seed, index))

    def hash(self, path: str, purpose: str = "") -> Column:
        return F.xxhash64(self.seed, self.row, F.lit(f"{path}/{purpose}"))

    def share(self, path: str, purpose: str = "") -> Column:
        """Uniform in [0, 1), with the 53 bits of a double."""
        return F.shiftrightunsigned(self.hash(path, purpose), 11) * F.lit(2.0**-53)


def value_of(generator: Generator, at: Moment) -> Column:
    value = _sequence(generator, at) if generator.sequence is not None else _random(generator, at)
    value = value.cast(spark_type(generator.type))
    if not generator.null_rate:
        return value
    return F.when(at.share(generator.path, "null") >= generator.null_rate, value)


def _sequence(generator: Generator, at: Moment) -> Column:
    assert generator.sequence is not None
    number = at.row + F.lit(generator.sequence[0])
    if generator.type.root in BINARIES:
        return F.unhex(F.lpad(F.hex(number), _HEX_DIGITS, "0"))
    return number


def _random(generator: Generator, at: Moment) -> Column:
    return _MADE_BY_TYPE.get(generator.type.root, _integer)(generator, at)


def _boolean(generator: Generator, at: Moment) -> Column:
    return at.hash(generator.path) % 2 == 0


def _integer(generator: Generator, at: Moment) -> Column:
    least, greatest = (int(bound) for bound in generator.bounds)
    drawn, span = at.hash(generator.path), greatest - least + 1
    if span <= _MAX_SPAN:
        return F.pmod(drawn, F.lit(span)) + F.lit(least)
    wide = "DECIMAL(20, 0)"
    return F.pmod(drawn.cast(wide), F.lit(str(span)).cast(wide)) + F.lit(str(least)).cast(wide)


def _random_float(generator: Generator, at: Moment) -> Column:
    return _between(at.share(generator.path), *generator.bounds)


def _between(share: Column, least: float, greatest: float) -> Column:
    # The difference of the bounds may be too large for a double; each term is not.
    return F.lit(float(least)) * (1 - share) + F.lit(float(greatest)) * share


def _decimal(generator: Generator, at: Moment) -> Column:
    """The greatest double may exceed the greatest decimal; the next smaller one rounds to a value that fits."""
    least, greatest = (float(bound) for bound in generator.bounds)
    return _between(at.share(generator.path), nextafter(least, greatest), nextafter(greatest, least))


def _random_timestamp(generator: Generator, at: Moment) -> Column:
    if not generator.max_past_ms:
        return F.timestamp_millis(F.unix_millis(at.time))
    past = F.pmod(at.hash(generator.path), F.lit(generator.max_past_ms))
    return F.timestamp_millis(F.unix_millis(at.time) - past)


def _time_of_day(_: Generator, at: Moment) -> Column:
    return F.pmod(F.unix_millis(at.time), F.lit(86_400_000)).cast("int")


def _text(generator: Generator, at: Moment) -> Column:
    return _hex_text(generator, at, 1)


def _binary(generator: Generator, at: Moment) -> Column:
    return F.unhex(_hex_text(generator, at, 2))


def _hex_text(generator: Generator, at: Moment, digits_per_unit: int) -> Column:
    """Hashes as hexadecimal digits, as many as the length requires."""
    path, digits = generator.path, generator.length * digits_per_unit
    last = -(-digits // _HEX_DIGITS) - 1
    block = F.transform(
        F.sequence(F.lit(0), F.lit(last)),
        lambda index: F.lpad(F.lower(F.hex(at.of_element(index).hash(path))), _HEX_DIGITS, "0"),
    )
    text = F.array_join(block, "")
    if not generator.varies_in_length or generator.length == 1:
        return F.substring(text, 1, digits)
    # As in Flink, the length itself is never reached.
    length = F.pmod(at.hash(path, "length"), F.lit(generator.length - 1)) + 1
    return F.left(text, (length * digits_per_unit).cast("int"))


def _row(generator: Generator, at: Moment) -> Column:
    parts = zip(generator.type.fields, generator.parts, strict=True)
    return F.struct(*(value_of(part, at).alias(field.name) for field, part in parts))


def _array(generator: Generator, at: Moment) -> Column:
    return _elements(generator, generator.parts[0], at)


def _elements(generator: Generator, part: Generator, at: Moment) -> Column:
    if not generator.length:
        return F.array().cast(f"ARRAY<{spark_type(part.type)}>")
    indexes = F.sequence(F.lit(0), F.lit(generator.length - 1))
    return F.transform(indexes, lambda index: value_of(part, at.of_element(index)))


def _map(generator: Generator, at: Moment) -> Column:
    """Equal keys are merged, as in a Java map; NULL keys, which Spark does not support, are left out."""
    key, *values = generator.parts
    keys = F.filter(F.array_distinct(_elements(generator, key, at)), lambda each: each.isNotNull())

    def value(_: Column, index: Column) -> Column:
        if values:
            return value_of(values[0], at.of_element(index))
        return F.pmod(at.of_element(index).hash(generator.path, "count"), F.lit(_MAX_COUNT + 1)).cast("int")

    return F.map_from_arrays(keys, F.transform(keys, value))


_MADE_BY_TYPE: Final[dict[TypeRoot, Callable[[Generator, Moment], Column]]] = {
    TypeRoot.BOOLEAN: _boolean,
    TypeRoot.FLOAT: _random_float,
    TypeRoot.DOUBLE: _random_float,
    TypeRoot.DECIMAL: _decimal,
    TypeRoot.DATE: _random_timestamp,
    TypeRoot.TIMESTAMP: _random_timestamp,
    TypeRoot.TIMESTAMP_LTZ: _random_timestamp,
    TypeRoot.TIME: _time_of_day,
    **dict.fromkeys(CHARACTER, _text),
    **dict.fromkeys(BINARIES, _binary),
    TypeRoot.ROW: _row,
    TypeRoot.ARRAY: _array,
    TypeRoot.MAP: _map,
    TypeRoot.MULTISET: _map,
}
