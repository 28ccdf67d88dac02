"""Jobs over changelogs that are killed and resumed: their script, their input, and the expected output."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from millstream.testing.script_messages import Message
from tests.runtime.topics import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    Table = dict[str, dict[str, Any]]

_UPSERTS = """'properties.bootstrap.servers' = '${brokers}', 'connector' = 'upsert-kafka', 'key.format' = 'json',
  'value.format' = 'json'"""
TABLES = f"""
SET 'millstream.batch.max-rows' = '200';
CREATE TABLE events (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = '${{events}}',
  'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json');
CREATE TABLE users (id INT, region STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka',
  'topic' = '${{users}}', 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'debezium-json');
CREATE TABLE scores (player STRING, score INT, PRIMARY KEY (player) NOT ENFORCED) WITH (
  'topic' = '${{scores}}', {_UPSERTS});
CREATE TABLE totals (k STRING, n BIGINT, total INT, mean INT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'topic' = '${{totals}}', {_UPSERTS});
CREATE TABLE sizes (users BIGINT, regions BIGINT, named STRING, PRIMARY KEY (users) NOT ENFORCED) WITH (
  'topic' = '${{sizes}}', {_UPSERTS});
CREATE TABLE holders (score INT, player STRING, PRIMARY KEY (score) NOT ENFORCED) WITH (
  'topic' = '${{holders}}', {_UPSERTS});
"""
TOTALS = f"""{TABLES}
INSERT INTO totals SELECT k, COUNT(*), SUM(v), AVG(v) FROM events GROUP BY k;
"""
MOVES = f"""{TABLES}
CREATE VIEW users_of_regions AS SELECT region, COUNT(DISTINCT id) AS users FROM users GROUP BY region;
INSERT INTO sizes SELECT users, COUNT(*), MAX(region) FROM users_of_regions GROUP BY users;
INSERT INTO holders SELECT score, player FROM scores WHERE score > 2;
"""
"""Users move between regions, and regions are counted by size; the last of the players with a score holds it."""
TOPICS = ("events", "users", "scores", "totals", "sizes", "holders")
TRUTH = {
    "totals": "SELECT k, count(*) AS n, sum(v) AS total, trunc(avg(v)) AS mean FROM events GROUP BY k",
    "sizes": """SELECT users, count(*) AS regions, max(region) AS named
                FROM (SELECT region, count(DISTINCT id) AS users FROM users GROUP BY region) GROUP BY users""",
}


class Input:
    """Input that is produced in rounds, and the tables that it amounts to so far."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.users: dict[int, str] = {}
        self.scores: dict[str, int] = {}
        self._chance = random.Random(7)

    def round(self, rows: int) -> dict[str, list[Message]]:
        """Users move between regions and leave, so that regions become empty; players win, lose and leave."""
        new = [{"k": self._chance.choice("abcdef"), "v": self._chance.randint(-9, 99)} for _ in range(rows)]
        self.events += new
        emptied = self._chance.choice("nesw")
        return {
            "events": [Message(str(at).encode(), as_json(row)) for at, row in enumerate(new)],
            "users": [*(self._user() for _ in range(rows)), *self._empty_region(emptied)],
            "scores": [self._score() for _ in range(rows)],
        }

    def truth(self, sink: str) -> Table:
        users = [{"id": user, "region": region} for user, region in self.users.items()]
        with duckdb.connect() as database:
            database.register("events", pa.Table.from_pylist(self.events))
            database.register("users", pa.Table.from_pylist(users))
            found = database.execute(TRUTH[sink])
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return {as_json({names[0]: row[names[0]]}).decode(): row for row in rows}

    def holders(self) -> dict[str, set[str]]:
        """For each score, the players that may hold it."""
        found: dict[str, set[str]] = {}
        for player, score in self.scores.items():
            if score > 2:
                found.setdefault(as_json({"score": score}).decode(), set()).add(player)
        return found

    def _user(self) -> Message:
        user, region = self._chance.randint(0, 60), self._chance.choice("nesw")
        return self._change_user(user, None if self._chance.random() < 0.3 else region)

    def _empty_region(self, region: str) -> Iterable[Message]:
        return [self._change_user(user, None) for user, home in list(self.users.items()) if home == region]

    def _change_user(self, user: int, region: str | None) -> Message:
        before, after = self.users.get(user), region or (None if user in self.users else "n")
        self.users.pop(user, None)
        if after is not None:
            self.users[user] = after
        operation = "d" if after is None else "c" if before is None else "u"
        images = {
            name: None if home is None else {"id": user, "region": home}
            for name, home in (("before", before), ("after", after))
        }
        return Message(str(user).encode(), as_json({**images, "op": operation}))

    def _score(self) -> Message:
        player = f"p{self._chance.randint(0, 40)}"
        key = as_json({"player": player})
        if self._chance.random() < 0.2:
            self.scores.pop(player, None)
            return Message(key, None)
        self.scores[player] = self._chance.randint(0, 12)
        return Message(key, as_json({"player": player, "score": self.scores[player]}))
