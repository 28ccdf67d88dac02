CREATE TABLE orders (id INT, customer STRING, amount INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE payments (order_id INT, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'payments', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE states (id INT, is_paid BOOLEAN, is_blocked BOOLEAN, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'states', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO states
SELECT id, EXISTS (SELECT 1 FROM payments AS p WHERE p.order_id = o.id AND p.amount >= o.amount),
  customer NOT IN (SELECT customer FROM orders WHERE amount < 0)
FROM orders AS o
WHERE amount > 5 OR customer IN (SELECT customer FROM orders WHERE amount = 1);
