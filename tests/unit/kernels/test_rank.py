"""The first rows of each group, whatever the order, the ties and the batches, against a sort of all rows."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.rank import Arrival, RankOperator, SortKey
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.bench import Bench, Change, Reader, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = pa.schema(
    [("g", pa.string()), ("h", pa.float64()), ("x", pa.float64()), ("y", pa.string()), ("tags", pa.list_(pa.int32()))]
)
NAN = float("nan")
LONG = 1000

rows = st.tuples(
    st.sampled_from(["a", "a", "b", None]),
    st.sampled_from([0.0, NAN, None]),
    st.sampled_from([-1.0, 0.0, 1.0, 2.0, NAN, None]),
    st.sampled_from(["", "p", "q", None]),
    st.sampled_from([[], [1], [1, None], None]),
)
sort_keys = st.builds(SortKey, st.sampled_from(["x", "y", "h"]), st.booleans(), st.booleans())


@dataclass(slots=True)
class Table:
    """Rows in order of arrival."""

    rows: list[Row] = field(default_factory=list)

    def apply(self, batch: Sequence[Change]) -> None:
        for kind, row in batch:
            if kind is RowKind.INSERT:
                self.rows.append(row)
            else:
                del self.rows[[comparable(other) for other in self.rows].index(comparable(row))]

    def first(self, operator: RankOperator) -> list[Row]:
        """With the group's values, in order; behind each row its number."""
        groups: dict[Row, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(comparable(tuple(row[SCHEMA.names.index(key)] for key in operator.keys)), []).append(row)
        found = []
        decides = operator.order if operator.arrival else (*operator.order, *map(SortKey, SCHEMA.names))

        def compare_rows(one: Row, other: Row) -> int:
            return compare(one, other, decides)

        for group in groups.values():
            arrived = group[::-1] if operator.arrival is Arrival.LAST else group
            ordered = sorted(arrived, key=cmp_to_key(compare_rows))
            found += [(*comparable(row), number) for number, row in enumerate(ordered[: operator.limit], 1)]
        return found


def compare(one: Row, other: Row, order: Sequence[SortKey]) -> int:
    for key in order:
        place = SCHEMA.names.index(key.name)
        a, b = one[place], other[place]
        if (a is None) != (b is None):
            return 1 if (a is None) is key.nulls_last else -1
        if a is not None and sortable(a) != sortable(b):
            return 1 if (sortable(a) > sortable(b)) is not key.descending else -1
    return 0


def sortable(value: Any) -> Any:
    """NaN is the greatest number."""
    if isinstance(value, list):
        return [(item is not None, item or 0) for item in value]
    return math.inf if is_nan(value) else value


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def comparable(row: Sequence[Any]) -> Row:
    return tuple("NaN" if is_nan(value) else tuple(value) if isinstance(value, list) else value for value in row)


class Members:
    """A reader of rows that come and go: what goes must be there."""

    def __init__(self) -> None:
        self.rows: Counter[Row] = Counter()

    def read(self, changes: list[dict[str, Any]]) -> None:
        for change in changes:
            kind = RowKind(change.pop(KIND))
            assert kind in (RowKind.INSERT, RowKind.DELETE)
            row = comparable(tuple(change.values()))
            self.rows[row] += 1 if kind is RowKind.INSERT else -1
            assert self.rows[row] >= 0, "what went was not there"


def check(operator: RankOperator, batches: list[list[Change]], *, colliding: bool, pieces: int) -> None:
    bench = Bench(operator, SCHEMA, colliding=colliding, buckets=2)
    table = Table()
    number = [] if operator.rank is None else [operator.rank]
    places = Reader([*operator.keys, *number], sees_before=operator.emits_before, repeats=operator.repeats)
    members = Members()
    for now, batch in enumerate(batches):
        bench.ttl = TimeToLive(now, LONG) if operator.expires else None
        changes = bench.step(batch, pieces=pieces)
        table.apply(batch)
        wanted = table.first(operator)
        if not operator.goes_by_place or operator.keeps_first:
            members.read(changes)
            assert +members.rows == Counter(row if operator.rank else row[:-1] for row in wanted)
        else:
            places.read([{name: comparable([value])[0] for name, value in change.items()} for change in changes])
            shown = sorted(places.table.values(), key=repr)
            assert shown == sorted((row if operator.rank else row[:-1] for row in wanted), key=repr)


def cut(changes: list[Change], ends: list[bool]) -> list[list[Change]]:
    batches: list[list[Change]] = [[]]
    for change, ends_batch in zip(changes, ends, strict=False):
        batches[-1].append(change)
        if ends_batch:
            batches.append([])
    return [batch for batch in batches if batch]


settings = st.fixed_dictionaries(
    {
        "keys": st.sampled_from([(), ("g",), ("g", "h"), ("h",)]),
        "order": st.lists(sort_keys, max_size=3, unique_by=lambda key: key.name).map(tuple),
        "limit": st.integers(1, 4),
        "rank": st.sampled_from([None, "rn"]),
        "emits_before": st.booleans(),
        "expires": st.booleans(),
    }
)
ends = st.lists(st.sampled_from([True, False, False]), min_size=60, max_size=60)


@given(
    inserted=st.lists(rows, min_size=1, max_size=25),
    given=settings,
    arrival=st.sampled_from([Arrival.FIRST, Arrival.LAST, None]),
    ends=ends,
    pieces=st.integers(1, 3),
    colliding=st.booleans(),
)
def test_the_first_of_inserts(
    inserted: list[Row],
    given: dict[str, Any],
    arrival: Arrival | None,
    ends: list[bool],
    pieces: int,
    *,
    colliding: bool,
) -> None:
    operator = RankOperator(schema=SCHEMA, arrival=arrival, insert_only=True, **given)
    operator = replace(operator, repeats=operator.expires and not operator.keeps_first)
    check(operator, cut([(RowKind.INSERT, row) for row in inserted], ends), colliding=colliding, pieces=pieces)


@given(
    drawn=st.lists(st.tuples(rows, st.integers(0, 9)), min_size=1, max_size=40),
    given=settings,
    ends=ends,
    pieces=st.integers(1, 3),
    colliding=st.booleans(),
)
def test_the_first_of_rows_that_come_and_go(
    drawn: list[tuple[Row, int]], given: dict[str, Any], ends: list[bool], pieces: int, *, colliding: bool
) -> None:
    operator = SmallReserve(schema=SCHEMA, repeats=given["expires"], **given)
    check(operator, cut(come_and_go(drawn), ends), colliding=colliding, pieces=pieces)


class SmallReserve(RankOperator):
    """Few rows use up the reserve of a head."""

    @property
    def head(self) -> int:
        return self.limit + 2


def come_and_go(drawn: list[tuple[Row, int]]) -> list[Change]:
    """A low number takes back one of the rows that are there."""
    changes: list[Change] = []
    there: list[Row] = []
    for row, number in drawn:
        if number < 4 and there:
            gone = there.pop(number * len(there) // 4)
            changes.append((RowKind.DELETE, gone))
        else:
            there.append(row)
            changes.append((RowKind.INSERT, row))
    return changes


PLAIN = pa.schema([("g", pa.string()), ("x", pa.int64())])


def shown(changes: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(RowKind(change[KIND]).symbol, change["x"]) for change in changes]


def inserts(*values: int) -> list[Change]:
    return [(RowKind.INSERT, ("a", value)) for value in values]


def deletes(*values: int) -> list[Change]:
    return [(RowKind.DELETE, ("a", value)) for value in values]


def test_a_retraction_of_a_row_that_is_not_there_is_ignored() -> None:
    bench = Bench(RankOperator(("g",), (SortKey("x"),), PLAIN, 2), PLAIN)
    assert shown(bench.step(inserts(1, 2, 3))) == [("+I", 1), ("+I", 2)]
    assert shown(bench.step(deletes(9, 3))) == []
    assert bench.ignored == 1
    assert shown(bench.step(deletes(1))) == [("-D", 1)]


def test_a_group_is_read_when_its_head_has_run_dry() -> None:
    bench = Bench(RankOperator(("g",), (SortKey("x"),), PLAIN, 2), PLAIN)
    bench.step(inserts(*range(40)))
    assert bench.stored_rows() == {"rows": 40, "heads": 12}
    assert shown(bench.step(deletes(*range(5, 15)))) == []
    assert bench.stored_rows()["heads"] == 5
    assert shown(bench.step(deletes(0, 1, 2, 3))) == [("-D", 0), ("-D", 1), ("+I", 4), ("+I", 15)]
    assert bench.stored_rows()["heads"] == 12
    assert shown(bench.step(deletes(4))) == [("-D", 4), ("+I", 16)]


def test_copies_of_a_row_have_a_place_each() -> None:
    bench = Bench(RankOperator(("g",), (SortKey("x"),), PLAIN, 3, rank="rn"), PLAIN)
    bench.step(inserts(1, 1, 1, 1, 2))
    assert shown(bench.step(deletes(1, 1))) == [("+U", 2)]
    assert shown(bench.step(deletes(1))) == [("+U", 2), ("-D", 2)]


def test_the_first_rows_to_arrive_are_only_counted() -> None:
    bench = Bench(RankOperator(("g",), (), PLAIN, 2, Arrival.FIRST, insert_only=True), PLAIN)
    assert shown(bench.step(inserts(7))) == [("+I", 7)]
    assert shown(bench.step(inserts(5, 3))) == [("+I", 5)]
    assert shown(bench.step(inserts(1))) == []
    assert bench.stored_rows() == {"rows": 1}


def test_a_group_may_have_nothing_but_its_key() -> None:
    for arrival in Arrival:
        bench = Bench(RankOperator(("g", "x"), (), PLAIN, 1, arrival, insert_only=True), PLAIN)
        assert sorted(shown(bench.step(inserts(7, 5, 7)))) == [("+I", 5), ("+I", 7)]
        assert shown(bench.step(inserts(5, 3))) == [("+I", 3)]
    bench = Bench(RankOperator(("g", "x"), (), PLAIN, 1), PLAIN)
    assert shown(bench.step(inserts(7, 7))) == [("+I", 7)]
    assert shown(bench.step(deletes(7))) == []
    assert shown(bench.step(deletes(7))) == [("-D", 7)]


def test_a_limit_may_be_larger_than_any_group() -> None:
    for insert_only in (True, False):
        arrival = Arrival.FIRST if insert_only else None
        operator = RankOperator(("g",), (SortKey("x"),), PLAIN, (1 << 31) - 1, arrival, insert_only=insert_only)
        bench = Bench(operator, PLAIN)
        assert shown(bench.step(inserts(2, 1))) == [("+I", 1), ("+I", 2)]
        assert shown(bench.step(inserts(0))) == [("+I", 0)]


def test_a_group_expires_as_a_whole() -> None:
    """A batch with a row of the group keeps its other rows alive, with the places that readers know."""
    for insert_only in (True, False):
        arrival = Arrival.FIRST if insert_only else None
        operator = RankOperator(
            ("g",), (SortKey("x"),), PLAIN, 3, arrival, rank="rn", insert_only=insert_only, expires=True, repeats=True
        )
        bench = Bench(operator, PLAIN)
        for now, values, changes in (
            (0, (5,), [("+I", 5)]),
            (6, (6,), [("+U", 5), ("+I", 6)]),
            (12, (4,), [("+U", 4), ("+U", 5), ("+I", 6)]),
            (30, (9,), [("+I", 9)]),
        ):
            bench.ttl = TimeToLive(now, 10)
            assert shown(bench.step(inserts(*values))) == changes
