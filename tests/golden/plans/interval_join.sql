CREATE TABLE orders (id INT, customer INT, amount INT, due TIMESTAMP(3), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE payments (order_id INT, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'kafka', 'topic' = 'payments', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE paid (id INT, amount INT, ts TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'topic' = 'paid', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');

-- both ends of the interval: rows are kept no longer than that
INSERT INTO paid
SELECT o.id, p.amount, p.ts
FROM orders AS o, payments AS p
WHERE o.id = p.order_id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR AND p.amount > o.amount;

INSERT INTO paid
SELECT o.id, p.amount, o.ts
FROM orders AS o LEFT JOIN payments AS p
ON o.id = p.order_id AND o.ts > p.ts - INTERVAL '1' HOUR AND o.ts <= p.ts AND p.amount > o.amount;

-- one end, and an end that is no time attribute: regular joins
INSERT INTO paid
SELECT o.id, p.amount, p.ts
FROM orders AS o JOIN payments AS p ON o.id = p.order_id AND p.ts >= o.ts;

INSERT INTO paid
SELECT o.id, p.amount, p.ts
FROM orders AS o JOIN payments AS p ON o.id = p.order_id AND p.ts BETWEEN o.ts AND o.due;
