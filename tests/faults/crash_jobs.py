"""The jobs that are ended at failpoints: what each reads, and the expected table in its topic."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.kafka.option_values import DeliveryGuarantee
from tests.runtime.topics import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from millstream.testing.script_messages import Message

    Row = dict[str, Any]
    Table = dict[bytes, Row]

ROWS: Final = 1500
EVERY_GUARANTEE: Final = (DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE)
_LEFT_OUT: Final = 3
_GONE: Final = 5
_GONE_AFTER: Final = 1200
_HIGHEST: Final = 99
_KAFKA: Final = "'properties.bootstrap.servers' = '${brokers}', "
_SOURCE: Final = f"'connector' = 'kafka', {_KAFKA} 'topic' = '${{source}}'"
_SINK: Final = f"{_KAFKA} 'topic' = '${{sink}}', 'sink.delivery-guarantee' = '${{guarantee}}'"
_PREFIX: Final = ", 'sink.transactional-id-prefix' = '${sink}'"


@dataclass(frozen=True)
class CrashJob:
    """A kind of query. `fold` makes a table of its topic: `truth` in the end, however often a batch is done."""

    query: str
    script: str
    value: Callable[[int], Row]
    fold: Callable[[Iterable[Message]], Table]
    truth: Callable[[], Table]
    has_state: bool = True
    has_several_kernels: bool = False
    guarantees: tuple[DeliveryGuarantee, ...] = EVERY_GUARANTEE

    @property
    def name(self) -> str:
        return self.query.partition(":")[0]

    def script_for(self, guarantee: DeliveryGuarantee) -> str:
        prefix = _PREFIX if guarantee is DeliveryGuarantee.EXACTLY_ONCE else ""
        return self.script.replace("'${guarantee}'", f"'{guarantee.value}'{prefix}")


def _order(number: int) -> Row:
    return {"id": number, "customer": number % 17, "amount": number % 100}


def _change(number: int) -> Row:
    """Every row is inserted, then changed or deleted. No total returns to an earlier value."""
    of = number // 2 * 2
    old = {"id": of, "customer": of % 17, "amount": of + 1}
    if number == of:
        return {"before": None, "after": old, "op": "c"}
    if number % 4 == 1:
        return {"before": old, "after": {**old, "amount": 3 * of + 7}, "op": "u"}
    return {"before": old, "after": None, "op": "d"}


def _each(messages: Iterable[Message]) -> Table:
    """Rows that are only inserted: every message is one."""
    return {message.value: json.loads(message.value) for message in messages if message.value is not None}


def _last(messages: Iterable[Message]) -> Table:
    table: Table = {}
    for message in messages:
        assert message.key is not None
        table.pop(message.key, None)
        if message.value is not None:
            table[message.key] = json.loads(message.value)
    return table


def _fold_changes(messages: Iterable[Message]) -> Table:
    """The row of the last change of each key; Flink's debezium-json encodes an update as a delete and an insert."""
    changes = {key: change["after"] for key, change in _last(messages).items()}
    return {key: row for key, row in changes.items() if row is not None}


def _key_by(column: str, rows: Iterable[Row]) -> Table:
    return {as_json({column: row[column]}): row for row in rows}


def _expected_pass() -> Table:
    rows = (_order(number) for number in range(ROWS))
    kept = ({"id": row["id"], "amount": row["amount"] * 2} for row in rows if row["customer"] != _LEFT_OUT)
    return {as_json(row): row for row in kept}


def _expected_counts() -> Table:
    amounts: defaultdict[int, list[int]] = defaultdict(list)
    for row in map(_order, range(ROWS)):
        amounts[row["customer"]].append(row["amount"])
    rows = (
        {"customer": customer, "orders": len(found), "amounts": len(set(found))} for customer, found in amounts.items()
    )
    return _key_by("customer", rows)


def _expected_sums() -> Table:
    totals: Counter[int] = Counter()
    for change in map(_change, range(ROWS)):
        for image, sign in ((change["before"], -1), (change["after"], 1)):
            if image is not None:
                totals[image["customer"]] += sign * image["amount"]
    return _key_by("customer", ({"customer": customer, "total": total} for customer, total in totals.items()))


def _both() -> Table:
    rows = [_order(number) for number in range(ROWS)]
    first = [{"id": row["id"], "amount": row["amount"]} for row in rows]
    second = [{"id": -row["id"], "amount": row["amount"]} for row in rows if row["customer"] != _LEFT_OUT]
    return {as_json(row): row for row in (*first, *second)}


def _expected_queries() -> Table:
    """One customer goes late; those who never had the highest amount have no last order of it."""
    rows = [row for row in map(_order, range(ROWS)) if row["customer"] != _GONE]
    orders = Counter(row["customer"] for row in rows)
    last = {row["customer"]: row["id"] for row in rows if row["amount"] == _HIGHEST}
    return _key_by(
        "customer",
        ({"customer": customer, "orders": count, "last": last.get(customer)} for customer, count in orders.items()),
    )


CRASH_JOBS: Final = (
    CrashJob(
        "append: pass-through",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_SOURCE}, 'format' = 'json');\n"
        f"CREATE TABLE sink (id INT, amount INT) WITH ('connector' = 'kafka', {_SINK}, 'format' = 'json');\n"
        f"INSERT INTO sink SELECT id, amount * 2 FROM source WHERE customer <> {_LEFT_OUT};",
        _order,
        _each,
        _expected_pass,
        has_state=False,
    ),
    CrashJob(
        "upsert: COUNT, COUNT(DISTINCT)",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_SOURCE}, 'format' = 'json');\n"
        "CREATE TABLE sink (customer INT, orders BIGINT, amounts BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH ("
        f"'connector' = 'upsert-kafka', {_SINK}, 'key.format' = 'json', 'value.format' = 'json');\n"
        "INSERT INTO sink SELECT customer, COUNT(*), COUNT(DISTINCT amount) FROM source GROUP BY customer;",
        _order,
        _last,
        _expected_counts,
    ),
    CrashJob(
        "changes: SUM, changes to changes",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_SOURCE}, 'format' = 'debezium-json');\n"
        f"CREATE TABLE sink (customer INT, total BIGINT) WITH ('connector' = 'kafka', {_SINK}, "
        "'key.format' = 'json', 'key.fields' = 'customer', 'value.format' = 'debezium-json');\n"
        "INSERT INTO sink SELECT customer, SUM(amount) FROM source GROUP BY customer;",
        _change,
        _fold_changes,
        _expected_sums,
    ),
    CrashJob(
        "queries: outer and semi joins, Top-N, EXCEPT",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_SOURCE}, 'format' = 'json');\n"
        "CREATE TABLE sink (customer INT, orders BIGINT, `last` INT, PRIMARY KEY (customer) NOT ENFORCED) WITH ("
        f"'connector' = 'upsert-kafka', {_SINK}, 'key.format' = 'json', 'value.format' = 'json');\n"
        "CREATE VIEW counts AS SELECT customer, COUNT(*) AS orders FROM source GROUP BY customer;\n"
        "CREATE VIEW highest AS SELECT customer, id FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY customer ORDER BY id DESC) AS place FROM source "
        f"WHERE amount = {_HIGHEST}) WHERE place = 1;\n"
        "INSERT INTO sink SELECT c.customer, c.orders, h.id FROM counts c "
        "LEFT JOIN highest h ON c.customer = h.customer "
        "WHERE c.customer IN (SELECT customer FROM source EXCEPT SELECT customer FROM source "
        f"WHERE customer = {_GONE} AND id > {_GONE_AFTER});",
        _order,
        _last,
        _expected_queries,
        has_several_kernels=True,
    ),
    CrashJob(
        "set: two INSERTs from one table into one",
        f"CREATE TABLE source (id INT, customer INT, amount INT) WITH ({_SOURCE}, 'format' = 'json');\n"
        f"CREATE TABLE sink (id INT, amount INT) WITH ('connector' = 'kafka', {_SINK}, 'format' = 'json');\n"
        "BEGIN STATEMENT SET; INSERT INTO sink SELECT id, amount FROM source; "
        f"INSERT INTO sink SELECT -id, amount FROM source WHERE customer <> {_LEFT_OUT}; END;",
        _order,
        _each,
        _both,
        has_state=False,
        guarantees=(DeliveryGuarantee.EXACTLY_ONCE,),
    ),
    CrashJob(
        "times: pass-through, messages with a time",
        "CREATE TABLE source (id INT, customer INT, amount INT, `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp') WITH ("
        f"{_SOURCE}, 'format' = 'json');\n"
        "CREATE TABLE sink (id INT, amount INT, `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp') WITH ("
        f"'connector' = 'kafka', {_SINK}, 'format' = 'json');\n"
        f"INSERT INTO sink SELECT id, amount * 2, `at` FROM source WHERE customer <> {_LEFT_OUT};",
        _order,
        _each,
        _expected_pass,
        has_state=False,
        guarantees=(DeliveryGuarantee.AT_LEAST_ONCE,),
    ),
)
