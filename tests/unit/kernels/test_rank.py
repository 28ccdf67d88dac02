"""The first rows of each group, whatever the order, the ties and the batches, against a sort of all rows."""

from __future__ import annotations

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
keys = st.sampled_from([(), ("g",), ("g", "h"), ("h",)])
sort_keys = st.builds(SortKey, st.sampled_from(["x", "y", "h"]), st.booleans(), st.booleans())
orders = st.lists(sort_keys, max_size=3, unique_by=lambda key: key.name).map(tuple)


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
        for group in groups.values():
            arrived = group[::-1] if operator.arrival is Arrival.LAST else group
            decides = operator.order if operator.arrival else (*operator.order, *map(SortKey, SCHEMA.names))
            ordered = sorted(arrived, key=cmp_to_key(lambda one, other: compare(one, other, decides)))
            found += [(*comparable(row), number) for number, row in enumerate(ordered[: operator.limit], 1)]
        return found


def compare(one: Row, other: Row, order: Sequence[SortKey]) -> int:
    for key in order:
        place = SCHEMA.names.index(key.name)
        a, b = one[place], other[place]
        if (a is None) != (b is None):
            return 1 if (a is None) is key.nulls_last else -1
        if a is not None and (ranks := (sortable(a) > sortable(b)) - (sortable(a) < sortable(b))):
            return -ranks if key.descending else ranks
    return 0


def sortable(value: Any) -> Any:
    """NaN is the greatest number."""
    if isinstance(value, list):
        return [(item is not None, item or 0) for item in value]
    return (value != value, 0 if value != value else value) if isinstance(value, float) else value


def comparable(row: Sequence[Any]) -> Row:
    return tuple("NaN" if value != value else tuple(value) if isinstance(value, list) else value for value in row)


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
        "limit": st.integers(1, 4),
        "rank": st.sampled_from([None, "rn"]),
        "emits_before": st.booleans(),
    }
)


@given(
    inserted=st.lists(rows, min_size=1, max_size=25),
    keys=keys,
    order=orders,
    arrival=st.sampled_from([Arrival.FIRST, Arrival.LAST, None]),
    more=settings,
    ends=st.lists(st.sampled_from([True, False, False]), min_size=25, max_size=25),
    colliding=st.booleans(),
    expires=st.booleans(),
    pieces=st.integers(1, 3),
)
def test_the_first_of_inserts(
    inserted: list[Row],
    keys: tuple[str, ...],
    order: tuple[SortKey, ...],
    arrival: Arrival | None,
    more: dict[str, Any],
    ends: list[bool],
    pieces: int,
    *,
    colliding: bool,
    expires: bool,
) -> None:
    operator = RankOperator(keys, order, SCHEMA, arrival=arrival, insert_only=True, **more)
    operator = replace(operator, expires=expires, repeats=expires and not operator.keeps_first)
    check(operator, cut([(RowKind.INSERT, row) for row in inserted], ends), colliding=colliding, pieces=pieces)


@given(
    drawn=st.lists(st.tuples(rows, st.integers(0, 9)), min_size=1, max_size=40),
    keys=keys,
    order=orders,
    more=settings,
    ends=st.lists(st.sampled_from([True, False, False]), min_size=60, max_size=60),
    colliding=st.booleans(),
    expires=st.booleans(),
    pieces=st.integers(1, 3),
)
def test_the_first_of_rows_that_come_and_go(
    drawn: list[tuple[Row, int]],
    keys: tuple[str, ...],
    order: tuple[SortKey, ...],
    more: dict[str, Any],
    ends: list[bool],
    pieces: int,
    *,
    colliding: bool,
    expires: bool,
) -> None:
    operator = SmallReserve(keys, order, SCHEMA, expires=expires, repeats=expires, **more)
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
