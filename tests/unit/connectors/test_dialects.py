"""A table means the same in either dialect."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import Code
from tests.declaring import COLUMNS, KAFKA, KEYED, UPSERT, declare, problems, sink, source

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.table import CatalogTable

BASE = (
    ("connector.topic", "topic", "orders"),
    ("connector.properties.bootstrap.servers", "properties.bootstrap.servers", "localhost:9092"),
)
OF_KAFKA = (
    ("connector.startup-mode", "scan.startup.mode", ["latest-offset", "timestamp", "specific-offsets", "x"]),
    ("connector.startup-timestamp-millis", "scan.startup.timestamp-millis", ["5", "five"]),
    ("connector.specific-offsets", "scan.startup.specific-offsets", ["partition:0,offset:4", "0:4"]),
    ("connector.sink-partitioner", "sink.partitioner", ["fixed", "round-robin"]),
    ("connector.topic-pattern", "topic-pattern", ["orders.*"]),
    ("connector.properties.group.id", "properties.group.id", ["g"]),
    ("format.ignore-parse-errors", "json.ignore-parse-errors", ["true", "maybe"]),
    ("format.nonsense", "json.nonsense", ["1"]),
)


def chosen(options: tuple[tuple[str, str, list[str]], ...]) -> Any:
    """Some of the options, each with one of its values."""
    one = [st.tuples(st.just(old), st.just(new), st.sampled_from(values)) for old, new, values in options]
    return st.tuples(*(st.none() | option for option in one)).map(
        lambda found: tuple(option for option in found if option is not None)
    )


def meaning(resolve: Callable[[CatalogTable], Any], table: CatalogTable) -> object:
    found = problems(resolve, table)
    if found:
        return sorted(problem.code for problem in found)
    resolved = resolve(table)
    return {
        field.name: getattr(resolved, field.name)
        for field in fields(resolved)
        if field.name not in ("table", "notices", "places", "key", "value_columns")
    }


@given(chosen(OF_KAFKA))
def test_kafka(options: tuple[tuple[str, str, str], ...]) -> None:
    pairs = (*BASE, *options)
    older = declare({"connector.type": "kafka", "format.type": "json", **{old: value for old, _, value in pairs}})
    newer = declare({"connector": "kafka", "format": "json", **{new: value for _, new, value in pairs}}, COLUMNS)
    assert meaning(source, older) == meaning(source, newer)
    assert meaning(sink, older) == meaning(sink, newer)


@given(st.sampled_from([None, "true", "false", "x"]), st.sampled_from(["json", "avro", "xml"]))
def test_upsert_kafka(lenient: str | None, name: str) -> None:
    """One format of the older dialect is both formats of the newer; what is wrong with it is said once."""
    older = {"connector.type": "upsert-kafka", "format.type": name, **{old: value for old, _, value in BASE}}
    newer = {"connector": "upsert-kafka", "key.format": name, "value.format": name}
    newer |= {new: value for _, new, value in BASE}
    table = declare({**older, "format.ignore-parse-errors": lenient if name == "json" else None}, KEYED)
    twin = declare(
        {
            **newer,
            "key.json.ignore-parse-errors": lenient if name == "json" else None,
            "value.json.ignore-parse-errors": lenient if name == "json" else None,
        },
        KEYED,
    )
    if problems(sink, twin):
        assert [problem.code for problem in problems(sink, table)] == [problems(sink, twin)[0].code]
    else:
        assert meaning(sink, table) == meaning(sink, twin)


OLDER = {
    "connector.type": "kafka",
    "format.type": "json",
    "connector.topic": "t",
    "connector.properties.bootstrap.servers": "a:1",
}


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({**OLDER, "topic": "t"}, "Remove it: there is 'connector.topic' already."),
        ({**OLDER, "connector": "kafka"}, "Remove it: there is 'connector.type' already."),
        ({**OLDER, "connector.topic": None, "topic": "t"}, "Write 'connector.topic' instead of 'topic'."),
        ({**KAFKA, "update-mode": "append"}, "Remove it: the connector and its format say the same."),
        ({**KAFKA, "connector.version": "0.11"}, "Remove it: one client works with brokers of every version."),
        ({**KAFKA, "connector.topic": "t"}, "Remove it: there is 'topic' already."),
        ({**KAFKA, "format.ignore-parse-errors": "true"}, "Write 'json.ignore-parse-errors' instead of "),
        ({**UPSERT, "format.type": "json"}, "Remove it: there is 'key.format' and 'value.format' already."),
        ({**UPSERT, "value.format": None, "format.type": "json"}, "Write 'value.format' instead of 'format.type'."),
    ],
)
def test_stray_key_of_the_other_dialect_is_one_problem(options: dict[str, str | None], hint: str) -> None:
    table = declare(options, KEYED if options.get("connector") == "upsert-kafka" else COLUMNS)
    for resolve in (source, sink):
        [problem] = problems(resolve, table)
        assert problem.code is Code.CONFLICTING_OPTIONS
        assert (problem.hint or "").startswith(hint)


def test_topic_and_pattern_of_an_upsert_table_are_one_problem() -> None:
    table = declare({**UPSERT, "topic-pattern": "orders.*"}, KEYED)
    assert len(problems(source, table)) == len(problems(sink, table)) == 1


def test_column_that_avro_cannot_carry_is_one_problem() -> None:
    columns = "a TIMESTAMP(9), b TIMESTAMP_LTZ(9)"
    found = problems(sink, declare({**KAFKA, "format": "avro"}, columns))
    assert ["precision 9" in (problem.detail or "") for problem in found] == [True, True]
