"""Hashes that workers compute are those that Spark computes."""

from __future__ import annotations

import random
import string
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from millstream.kernels.hashing import hash_rows
from millstream.spark.comparable import hashable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CHANCE = random.Random(7)


def _text() -> str:
    return "".join(
        CHANCE.choices(string.ascii_letters + "äß€𝄞", k=CHANCE.choice((0, 1, 3, 4, 7, 8, 9, 31, 32, 33, 100)))
    )


def _number(bits: int) -> Callable[[], int]:
    return lambda: CHANCE.choice((0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), CHANCE.getrandbits(bits - 1)))


def _decimal(digits: int) -> Callable[[], Decimal]:
    return lambda: Decimal(f"{CHANCE.choice((0, 1, -1, 127, 128, -128, -129, CHANCE.randrange(10**digits)))}e-2")


MAKERS: dict[str, Callable[[], Any]] = {
    "BOOLEAN": lambda: CHANCE.random() < 0.5,
    "TINYINT": _number(8),
    "SMALLINT": _number(16),
    "INT": _number(32),
    "BIGINT": _number(64),
    "FLOAT": lambda: CHANCE.choice((0.0, -0.0, float("nan"), float("inf"), 1.5)),
    "DOUBLE": lambda: CHANCE.choice((0.0, -0.0, float("nan"), float("-inf"), CHANCE.random())),
    "DECIMAL(10, 2)": _decimal(8),
    "DECIMAL(38, 2)": _decimal(36),
    "STRING": _text,
    "BINARY": lambda: _text().encode(),
    "DATE": lambda: date.fromordinal(CHANCE.randrange(1, 800_000)),
    "TIMESTAMP": lambda: datetime.fromtimestamp(CHANCE.randrange(2**31), UTC),
    "TIMESTAMP_NTZ": lambda: datetime.fromtimestamp(CHANCE.randrange(2**31), UTC).replace(tzinfo=None),
    "ARRAY<STRING>": lambda: [CHANCE.choice((None, _text())) for _ in range(CHANCE.randrange(4))],
    "STRUCT<a: INT, b: STRUCT<c: STRING, d: BIGINT>>": lambda: (
        CHANCE.choice((None, 5)),
        CHANCE.choice((None, (_text(), _number(64)()))),
    ),
    "MAP<STRING, ARRAY<INT>>": lambda: {
        _text(): [1, None, 3][: CHANCE.randrange(4)] for _ in range(CHANCE.randrange(3))
    },
}


@pytest.mark.parametrize("types", [*([name] for name in MAKERS), ["STRING", "BIGINT", "ARRAY<STRING>"]], ids=" ".join)
def test_hash_is_sparks(spark: SparkSession, types: list[str]) -> None:
    rows = [tuple(None if CHANCE.random() < 0.1 else MAKERS[type_]() for type_ in types) for _ in range(500)]
    names = [f"c{number}" for number in range(len(types))]
    frame = spark.createDataFrame(rows, ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True)))
    frame = frame.coalesce(1).cache()
    hashes = F.xxhash64(*(hashable(F.col(name), frame.schema[name].dataType) for name in names))
    table = frame.select(*names, hashes.alias("hash")).toArrow()
    found = hash_rows([table.column(name) for name in names], table.num_rows)
    assert found.to_pylist() == table.column("hash").to_pylist()
