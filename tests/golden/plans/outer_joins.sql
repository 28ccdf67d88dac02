CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'customers', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE closed (id INT, reason STRING) WITH (
  'connector' = 'kafka', 'topic' = 'closed', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE shipped (id INT, city STRING, amount INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'shipped', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO shipped
SELECT o.id, c.city, o.amount
FROM orders AS o LEFT JOIN customers AS c ON o.id = c.id AND o.amount > 5 AND c.city <> 'oslo' AND o.customer <> c.id
WHERE o.customer > 1 AND NOT EXISTS (SELECT 1 FROM closed WHERE closed.id = o.id);
