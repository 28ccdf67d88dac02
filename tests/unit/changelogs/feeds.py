"""Random changelogs as each kind of source gives them, and the table they stand for after each batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.changelog import RowKind

if TYPE_CHECKING:
    from random import Random

    from tests.unit.changelogs.plan_bench import Changes, Record

TABLE: Final = pa.schema([("id", pa.int32()), ("g", pa.string()), ("h", pa.int32()), ("x", pa.int32())])
_KAFKA: Final = "'topic' = 't', 'properties.bootstrap.servers' = 'x:9092'"
_UPSERT: Final = f"'connector' = 'upsert-kafka', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
_KEY: Final = ", PRIMARY KEY (id) NOT ENFORCED"


def _table(options: str, key: str = "") -> str:
    return f"CREATE TABLE t (id INT, g STRING, h INT, x INT{key}) WITH ({options});"


_CHANGES: Final = f"'connector' = 'kafka', {_KAFKA}, 'format' = 'debezium-json'"
SOURCES: Final = {
    "inserts": _table(f"'connector' = 'kafka', {_KAFKA}, 'format' = 'json'"),
    "upserts": _table(_UPSERT, _KEY),
    "changes": _table(_CHANGES),
    "keyed changes": _table(_CHANGES, _KEY),
    "doubled changes": f"SET 'table.exec.source.cdc-events-duplicate' = 'true';{_table(_CHANGES, _KEY)}",
}

Move = tuple[str, int, dict[str, Any], bool]


def random_moves(chance: Random) -> list[list[Move]]:
    """In batches. Never few: a row has to come, change and go before a plan can be wrong about it."""
    return [[_move(chance) for _ in range(chance.randint(2, 7))] for _ in range(chance.randint(3, 5))]


def _move(chance: Random) -> Move:
    values = {
        "g": chance.choice(["a", "b", "c", "d", None]),
        "h": chance.choice([0, 1, 2, None]),
        "x": chance.choice([-1, 0, 1, 2, 3, None]),
    }
    return chance.choice(["put", "put", "put", "delete", "move"]), chance.randint(0, 4), values, chance.random() < 0.5


@dataclass(slots=True)
class Feed:
    """Turns moves into the messages of one kind of source."""

    source: str
    table: list[Record]

    def batch(self, moves: list[Move]) -> Changes:
        changes: Changes = []
        for move, number, values, doubled in moves:
            made = self._make(move, {"id": number, **values})
            changes += made
            if self.source == "doubled changes" and doubled:
                changes += made
        return changes

    def _make(self, move: str, row: Record) -> Changes:
        if self.source == "inserts":
            self.table.append(row)
            return [(RowKind.INSERT, row)]
        old = next((found for found in self.table if found["id"] == row["id"]), None)
        if self.source == "upserts":
            return self._upsert(move, old, row)
        return self._change(move, old, row)

    def _upsert(self, move: str, old: Record | None, row: Record) -> Changes:
        if old is not None:
            self.table.remove(old)
        if move == "delete":
            return [(RowKind.DELETE, {"id": row["id"], "g": None, "h": None, "x": None})]
        self.table.append(row)
        return [(RowKind.UPDATE_AFTER, row)]

    def _change(self, move: str, old: Record | None, row: Record) -> Changes:
        if old is None:
            self.table.append(row)
            return [(RowKind.INSERT, row)]
        self.table.remove(old)
        if move == "delete":
            return [(RowKind.DELETE, old)]
        free = row["id"] + 10
        moves_away = move == "move" and all(found["id"] != free for found in self.table)
        new = row | {"id": free} if moves_away else row
        self.table.append(new)
        return [(RowKind.UPDATE_BEFORE, old), (RowKind.UPDATE_AFTER, new)]
