"""A batch whose values are too large together is evaluated in parts, and gives the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from millstream.plan.vectorised import text_arrays
from millstream.plan.vectorised.evaluators import Apply, ColumnValue, ExpressionError, TooLargeError
from millstream.plan.vectorised.forms import vectorise
from millstream.spark import python_rows
from millstream.spark.python_rows import compute_columns, filter_rows
from tests.unit.plan.expressions import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 1000
TEXTS = [None if row % 7 == 0 else "a" * (row % 50) for row in range(ROWS)]
BATCH = pa.record_batch({"s": pa.array(TEXTS), "id": pa.array(range(ROWS), pa.int32())})
COLUMNS = {"s": "STRING"}
EXPRESSIONS: dict[str, Callable[[str], str]] = {
    "REPLACE(s, 'a', 'bcdefghij')": lambda text: text.replace("a", "bcdefghij"),
    "s || '-' || s || s || s || s": lambda text: f"{text}-{4 * text}",
    "CAST(s AS CHAR(300))": lambda text: text.ljust(300),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_columns_are_computed_in_parts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 20_000
    for module in (text_arrays, python_rows):
        monkeypatch.setattr(module, "MOST_BYTES", limit)
    schema = pa.schema([("long", pa.string()), ("id", pa.int32())])
    evaluators = (vectorise(resolve(text, COLUMNS)), ColumnValue("id", pa.int32()))
    parts = list(compute_columns(evaluators, schema, iter([BATCH])))
    assert len(parts) > 4
    assert max(part.nbytes for part in parts) <= limit + BATCH.nbytes
    found = pa.Table.from_batches(parts).to_pydict()
    assert found["id"] == list(range(ROWS))
    assert found["long"] == [None if given is None else EXPRESSIONS[text](given) for given in TEXTS]


def test_rows_are_filtered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_arrays, "MOST_BYTES", 20_000)
    kept = list(
        filter_rows(vectorise(resolve("CHAR_LENGTH(REPLACE(s, 'a', 'bcdefghij')) > 300", COLUMNS)), iter([BATCH]))
    )
    assert len(kept) > 1
    assert pa.Table.from_batches(kept)["s"].to_pylist() == [text for text in TEXTS if text and 9 * len(text) > 300]


def test_arrow_is_not_asked_for_more_than_it_can_count() -> None:
    """It would give offsets below zero, and reading such a text ends the process."""
    texts = pa.array(["a" * (1 << 20)] * 54)
    with pytest.raises(TooLargeError):
        text_arrays.replace("a", "b" * 40, texts)


def test_a_text_that_is_too_large_by_itself_fails() -> None:
    def refuse(_: pa.Array) -> pa.Array:
        raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")

    evaluators = (Apply(refuse, (ColumnValue("s", pa.string()),)),)
    with pytest.raises(ExpressionError, match="TEXT_TOO_LARGE"):
        list(compute_columns(evaluators, pa.schema([("long", pa.string())]), iter([BATCH])))
