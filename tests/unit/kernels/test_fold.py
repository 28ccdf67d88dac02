"""Folding gives the same changes however the stream is cut, and the last change of a key never goes missing."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.fold import fold_updates, last_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    Change = tuple[bytes | None, str, RowKind]

INSERT, UB, UA, D = RowKind
SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.string()), (KIND, pa.int8())])
CHANGES = st.lists(st.tuples(st.sampled_from([b"a", b"b", None]), st.sampled_from("xyz"), st.sampled_from(RowKind)))
CUTS = st.lists(st.integers(0, 12))


def batches(changes: list[Change], cuts: list[int]) -> Iterator[pa.RecordBatch]:
    ends = sorted({min(cut, len(changes)) for cut in cuts} | {0, len(changes)})
    for first, end in zip([0, *ends], ends, strict=False):
        rows = [dict(zip(SCHEMA.names, change, strict=True)) for change in changes[first:end]]
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def changes_of(found: Iterator[pa.RecordBatch]) -> list[Change]:
    return [(row["key"], row["value"], RowKind(row[KIND])) for batch in found for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("changes", "folded"),
    [
        ([], []),
        ([(b"a", "x", UB), (b"a", "y", UA)], [(b"a", "y", UA)]),
        ([(b"a", "x", UB), (b"b", "y", UA)], [(b"a", "x", UB), (b"b", "y", UA)]),
        ([(b"a", "x", UB), (b"a", "y", INSERT)], [(b"a", "x", UB), (b"a", "y", INSERT)]),
        ([(None, "x", UB), (None, "y", UA)], [(None, "y", UA)]),
        ([(b"a", "x", UB)], [(b"a", "x", UB)]),
        ([(b"a", "x", UB), (b"a", "y", UB), (b"a", "z", UA)], [(b"a", "x", UB), (b"a", "z", UA)]),
        ([(b"a", "x", D), (b"a", "y", UA)], [(b"a", "x", D), (b"a", "y", UA)]),
    ],
)
def test_an_update_is_one_change(changes: list[Change], folded: list[Change]) -> None:
    assert changes_of(fold_updates(batches(changes, []), ["key"])) == folded


@given(CHANGES, CUTS)
def test_folding_does_not_depend_on_the_cuts(changes: list[Change], cuts: list[int]) -> None:
    whole = changes_of(fold_updates(batches(changes, []), ["key"]))
    assert changes_of(fold_updates(batches(changes, cuts), ["key"])) == whole
    assert [change for change in whole if change[2] is not UB] == [change for change in changes if change[2] is not UB]


@given(CHANGES, CUTS, st.integers(1, 5))
def test_the_last_change_of_each_key_is_the_last_that_is_given(
    changes: list[Change], cuts: list[int], max_keys: int
) -> None:
    given_ = changes_of(last_changes(batches(changes, cuts), ["key"], max_keys))
    assert {key: (value, kind) for key, value, kind in given_} == {key: (value, kind) for key, value, kind in changes}
    for key, group in groupby(sorted(given_, key=lambda change: change[0] or b""), key=lambda change: change[0]):
        in_order = iter([change for change in changes if change[0] == key])
        assert all(change in in_order for change in group)


def test_keys_are_gathered_up_to_the_limit() -> None:
    changes: list[Change] = [(b"a", "x", INSERT), (b"a", "y", UA), (b"b", "x", INSERT), (b"a", "z", UA)]
    cut_after_each = list(range(len(changes)))
    assert changes_of(last_changes(batches(changes, cut_after_each), ["key"], 2)) == [
        (b"a", "y", UA),
        (b"b", "x", INSERT),
        (b"a", "z", UA),
    ]
    assert changes_of(last_changes(batches(changes, cut_after_each), ["key"], 3)) == [
        (b"b", "x", INSERT),
        (b"a", "z", UA),
    ]
