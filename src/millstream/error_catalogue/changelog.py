"""M3: the changes that a query produces, and those that a sink accepts."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

CHANGELOG: Final = Group(
    "M3: changes",
    "Found before anything is started. [Changelog](../concepts/changelog.md) explains the rules behind them.",
    {
        Code.SINK_REFUSES_CHANGES: Explanation(
            "sink that takes inserts only",
            cause="The query updates or deletes rows that it gave before, as an aggregate does, and the table it "
            "writes to can only append.",
            fix="Write to a table with 'connector' = 'upsert-kafka' and a primary key.",
            example="sink_refuses_changes",
        ),
        Code.SINK_KEY_DIFFERS: Explanation(
            "sink with another key than the query",
            cause="The query updates its rows by one key, and the table it writes to is declared with another: "
            "updates of different rows would overwrite each other.",
            fix="Declare the table with the query's key, which the hint shows.",
            example="sink_key_differs",
        ),
    },
)
