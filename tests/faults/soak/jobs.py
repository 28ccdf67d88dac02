"""The jobs of a soak test, their input and their expected output, all of which depend only on the amount of input."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

Row = dict[str, Any]
PARTITIONS: Final = 3
SOURCES: Final = ("orders", "changes")
SINKS: Final = ("passed", "counted", "changed", "joined")
_CUSTOMERS: Final = 17
_ALIKE: Final = 40
"""This many consecutive orders have the same amount."""
_KAFKA: Final = "'properties.bootstrap.servers' = '${brokers}'"
_ONCE: Final = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix'"
SCRIPT: Final = f"""
SET 'millstream.batch.max-rows' = '1000';
SET 'parallelism.default' = '2';
SET 'spark.sql.execution.arrow.maxRecordsPerBatch' = '20';
SET 'restart-strategy.exponential-delay.initial-backoff' = '100 ms';
CREATE TABLE orders (id INT, customer INT, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'orders', {_KAFKA}, 'format' = 'json');
CREATE TABLE changes (id INT, customer INT, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'changes', {_KAFKA}, 'format' = 'debezium-json');
CREATE TABLE passed (id INT) WITH (
  'connector' = 'kafka', 'topic' = 'passed', {_KAFKA}, 'format' = 'json', {_ONCE} = 'soak-passed');
CREATE TABLE counted (customer INT, orders BIGINT, amounts BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'counted', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json',
  {_ONCE} = 'soak-counted');
CREATE TABLE changed (customer INT, held BIGINT, total BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'changed', {_KAFKA}, 'key.format' = 'json', 'key.fields' = 'customer',
  'value.format' = 'debezium-json', {_ONCE} = 'soak-changed');
CREATE TABLE joined (customer INT, orders BIGINT, `last` INT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'joined', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json',
  {_ONCE} = 'soak-joined');
CREATE VIEW sizes AS SELECT customer, COUNT(*) AS orders FROM orders GROUP BY customer;
CREATE VIEW latest AS SELECT customer, id FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id DESC) AS place FROM orders) WHERE place = 1;
INSERT INTO passed SELECT id FROM orders;
INSERT INTO counted SELECT customer, COUNT(*), COUNT(DISTINCT amount) FROM orders GROUP BY customer;
INSERT INTO changed SELECT customer, COUNT(*), SUM(amount) FROM changes GROUP BY customer;
INSERT INTO joined SELECT s.customer, s.orders, l.id FROM sizes s LEFT JOIN latest l ON s.customer = l.customer
  WHERE s.customer IN (SELECT customer FROM orders EXCEPT SELECT -1 - customer FROM orders);
"""


def order(number: int) -> Row:
    return {"id": number, "customer": number % _CUSTOMERS, "amount": number // _ALIKE}


def change(number: int) -> Row:
    """A row is inserted by an even number; the next odd one changes or deletes it."""
    row = number // 2
    old, new = ({"id": row, "customer": row % _CUSTOMERS, "amount": amount} for amount in (5, 7))
    if number % 2 == 0:
        return {"before": None, "after": old, "op": "c"}
    return {"before": old, "after": new, "op": "u"} if row % 2 == 0 else {"before": old, "after": None, "op": "d"}


def place_of_order(number: int) -> int:
    return number % PARTITIONS


def place_of_change(number: int) -> int:
    """Both changes of a row are in the same partition, in order."""
    return number // 2 % PARTITIONS


def expected_counts(fed: int) -> dict[int, Row]:
    orders: Counter[int] = Counter()
    amounts: defaultdict[int, set[int]] = defaultdict(set)
    for row in map(order, range(fed)):
        orders[row["customer"]] += 1
        amounts[row["customer"]].add(row["amount"])
    return {
        customer: {"customer": customer, "orders": orders[customer], "amounts": len(amounts[customer])}
        for customer in orders
    }


def expected_joined(fed: int) -> dict[int, Row]:
    found: dict[int, Row] = {}
    for row in map(order, range(fed)):
        customer = row["customer"]
        orders = found[customer]["orders"] if customer in found else 0
        found[customer] = {"customer": customer, "orders": orders + 1, "last": row["id"]}
    return found


def expected_changes(fed: int) -> dict[int, Row]:
    held: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for row in map(change, range(fed)):
        for image, sign in ((row["before"], -1), (row["after"], 1)):
            if image is not None:
                held[image["customer"]] += sign
                total[image["customer"]] += sign * image["amount"]
    return {
        customer: {"customer": customer, "held": rows, "total": total[customer]}
        for customer, rows in held.items()
        if rows
    }
