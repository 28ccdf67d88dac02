"""Where messages that cannot be read may go, and where not."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from tests.declaring import COLUMNS, KAFKA, KEYED, UPSERT, declare, source_codes


@pytest.mark.parametrize(
    ("topics", "codes"),
    [
        ({"topic": "orders"}, []),
        ({"topic": "orders;dead"}, [Code.CONFLICTING_OPTIONS]),
        ({"topic": None, "topic-pattern": "orders.*"}, []),
        ({"topic": None, "topic-pattern": "(?<any>d)ea."}, [Code.CONFLICTING_OPTIONS]),
        ({"topic": None, "topic-pattern": r"\p{Lower}+"}, [Code.CONFLICTING_OPTIONS]),
    ],
)
@pytest.mark.parametrize(("base", "columns"), [(KAFKA, COLUMNS), (UPSERT, KEYED)])
def test_dead_letters_that_would_be_read_again(
    base: dict[str, str | None], columns: str, topics: dict[str, str | None], codes: list[Code]
) -> None:
    assert source_codes(declare({**base, **topics, "scan.dead-letter.topic": "dead"}, columns)) == codes


@pytest.mark.parametrize("value", ["", "a;b", "a b", "."])
def test_dead_letters_without_a_topic(value: str) -> None:
    assert source_codes(declare({**KAFKA, "scan.dead-letter.topic": value})) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize(
    "skipping",
    [
        {"json.ignore-parse-errors": "TRUE"},
        {"format": None, "value.format": "csv", "value.csv.ignore-parse-errors": "true"},
        {"key.format": "csv", "key.fields": "id", "key.csv.ignore-parse-errors": "true"},
    ],
)
def test_dead_letters_of_a_format_that_skips(skipping: dict[str, str | None]) -> None:
    options = {**KAFKA, "scan.dead-letter.topic": "dead", **skipping}
    assert source_codes(declare(options)) == [Code.CONFLICTING_OPTIONS]
    assert source_codes(declare({**options, "scan.dead-letter.topic": None})) == []
