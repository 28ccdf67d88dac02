"""The kinds of jobs to run, and their input: the last batch has as many keys as the first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.testing.script_messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.testing.script_kafka import ScriptKafka

PARTITIONS: Final = 2
BATCH_ROWS: Final = 20
TOPICS: Final = ("orders", "first", "second")
_CUSTOMERS: Final = 17
_AMOUNTS: Final = 5
_SETTINGS: Final = f"""
SET 'millstream.batch.max-rows' = '{BATCH_ROWS}';
SET 'parallelism.default' = '2';
SET 'spark.local.dir' = '${{temporary}}';
"""
_KAFKA: Final = "'properties.bootstrap.servers' = '${brokers}'"
_ONCE: Final = ", 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${first}'"
_ORDERS: Final = f"""
CREATE TABLE orders (id INT, customer INT, amount INT) WITH (
  'connector' = 'kafka', 'topic' = '${{orders}}', {_KAFKA}, 'format' = 'json');
"""
_PASS: Final = "INSERT INTO first SELECT id FROM orders;"


def _rows(table: str, options: str = "") -> str:
    return f"""
CREATE TABLE {table} (id INT) WITH (
  'connector' = 'kafka', 'topic' = '${{{table}}}', {_KAFKA}, 'format' = 'json'{options});
"""


def _totals(total: str, options: str = "") -> str:
    return f"""
CREATE TABLE first (customer INT, orders BIGINT, total BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${{first}}', {_KAFKA},
  'key.format' = 'json', 'value.format' = 'json'{options});
INSERT INTO first SELECT customer, COUNT(*), {total} FROM orders GROUP BY customer;
"""


def _counted(query: str) -> str:
    """A table of customers, with a number each."""
    return f"""
CREATE TABLE first (customer INT, number BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${{first}}', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
CREATE VIEW sizes AS SELECT customer, COUNT(*) AS orders FROM orders GROUP BY customer;
CREATE VIEW sums AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;
INSERT INTO first {query};
"""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    statements: str

    @property
    def script(self) -> str:
        return _SETTINGS + _ORDERS + self.statements


_EVERY_KIND: Final = (
    Kind("pass-through", _rows("first") + _PASS),
    Kind("pass-through-exactly-once", _rows("first", _ONCE) + _PASS),
    Kind("kernel-aggregate", _totals("COUNT(DISTINCT amount)")),
    Kind("kernel-aggregate-exactly-once", _totals("COUNT(DISTINCT amount)", _ONCE)),
    Kind(
        "join",
        _counted(
            "SELECT s.customer, t.total FROM sizes s LEFT JOIN sums t ON s.customer = t.customer AND s.orders > 3 "
            "WHERE s.customer IN (SELECT customer FROM sums WHERE total > 9)"
        ),
    ),
    Kind(
        "top-n",
        _counted(
            "SELECT customer, orders FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY MOD(customer, 3) "
            "ORDER BY orders DESC) AS place FROM sizes) WHERE place <= 2"
        ),
    ),
    Kind(
        "over",
        _counted(
            "SELECT customer, SUM(amount) OVER (PARTITION BY customer ORDER BY PROCTIME() ROWS 9 PRECEDING) FROM orders"
        ),
    ),
    Kind(
        "set-operation",
        _counted(
            "SELECT customer, MAX(amount) FROM (SELECT customer, amount FROM orders INTERSECT "
            "SELECT customer, amount + 1 FROM orders EXCEPT ALL SELECT customer, 4 FROM sizes WHERE orders > 9) "
            "GROUP BY customer"
        ),
    ),
    Kind(
        "statement-set",
        f"{_rows('first')}{_rows('second')}BEGIN STATEMENT SET;\n{_PASS}\n"
        "INSERT INTO second SELECT id FROM orders WHERE amount > 1;\nEND;",
    ),
)
KINDS: Final = {kind.name: kind for kind in _EVERY_KIND}


def fill(kafka: ScriptKafka, topic: str, batches: int) -> None:
    """Produces the input of all batches before the job starts, so that no batch waits and all have the same size."""
    for partition in range(PARTITIONS):
        kafka.produce(topic, _orders(partition, batches * BATCH_ROWS), partition)


def _orders(partition: int, rows: int) -> Iterator[Message]:
    for number in range(partition, rows, PARTITIONS):
        order = {"id": number, "customer": number % _CUSTOMERS, "amount": number % _AMOUNTS}
        yield Message(None, json.dumps(order).encode())
