SET 'table.exec.state.ttl' = '3 min';
CREATE TABLE orders (id BIGINT, customer INT, amount DECIMAL(10, 2), note STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE customers (id BIGINT, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'customers', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE shipped (id BIGINT, city STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'shipped', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO shipped
SELECT o.id, c.city, o.amount FROM orders AS o JOIN customers AS c ON o.customer = c.id AND o.amount > 5
WHERE c.city <> 'oslo' AND o.id + c.id > 7;
