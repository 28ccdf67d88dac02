"""Keys and values as structs, for rows of every kind."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.changelog import KIND, RowKind
from millstream.spark.job_errors import NullInKeyError
from millstream.spark.message_structs import MessageField, MessageStruct, build_structs

KEY = MessageStruct("key", (MessageField("k_id", "id", is_required=True),), has_kind=False, skips_retractions=False)
FIELDS = (MessageField("id", "id", is_required=True), MessageField("n", "n", is_required=True))
UPSERT = MessageStruct("value", FIELDS, has_kind=False, skips_retractions=True)
CHANGE = MessageStruct("value", FIELDS, has_kind=True, skips_retractions=False)


def build(
    ids: list[str | None], numbers: list[int | None], kinds: list[RowKind] | None, *structs: MessageStruct
) -> pa.RecordBatch:
    rows = {"id": pa.array(ids, pa.string()), "n": pa.array(numbers, pa.int64())}
    if kinds is not None:
        rows[KIND] = pa.array([int(kind) for kind in kinds], pa.int8())
    [found] = build_structs("sink", structs, [KIND], iter([pa.record_batch(rows)]))
    return found


def test_a_retraction_has_a_key_and_no_value() -> None:
    kinds = [RowKind.UPDATE_AFTER, RowKind.DELETE, RowKind.UPDATE_BEFORE]
    found = build(["a", "b", "c"], [1, None, 3], kinds, KEY, UPSERT)
    assert found.column("key").to_pylist() == [{"k_id": "a"}, {"k_id": "b"}, {"k_id": "c"}]
    assert found.column("value").to_pylist() == [{"id": "a", "n": 1}, None, None]
    assert found.column(KIND).to_pylist() == [int(kind) for kind in kinds]


def test_a_format_that_encodes_the_kind_has_it_in_every_value() -> None:
    found = build(["a", "b"], [1, 2], [RowKind.INSERT, RowKind.DELETE], CHANGE)
    assert [value[KIND] for value in found.column("value").to_pylist()] == [RowKind.INSERT, RowKind.DELETE]


def test_rows_without_kinds_are_inserts() -> None:
    found = build(["a"], [1], None, KEY, UPSERT, MessageStruct("change", FIELDS, True, False))
    assert found.to_pylist() == [
        {"key": {"k_id": "a"}, "value": {"id": "a", "n": 1}, "change": {"id": "a", "n": 1, KIND: RowKind.INSERT}}
    ]


@pytest.mark.parametrize(
    ("ids", "numbers", "struct", "column"),
    [([None, "b"], [1, 1], KEY, "id"), (["a", "b"], [1, None], UPSERT, "n"), (["a", "b"], [None, 1], CHANGE, "n")],
)
def test_null_in_a_column_that_is_not_null_fails(
    ids: list[str | None], numbers: list[int | None], struct: MessageStruct, column: str
) -> None:
    with pytest.raises(NullInKeyError, match=f'"column": "{column}", "table": "sink"'):
        build(ids, numbers, [RowKind.DELETE, RowKind.INSERT], struct)


def test_a_value_may_have_no_fields() -> None:
    found = build(["a", "b"], [1, 2], None, KEY, MessageStruct("value", (), False, True))
    assert found.column("value").to_pylist() == [{}, {}]
