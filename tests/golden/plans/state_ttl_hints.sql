CREATE TABLE orders (id BIGINT, customer INT, amount DECIMAL(10, 2), note STRING) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE customers (id BIGINT, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'customers', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE totals (city STRING, amount DECIMAL(38, 2), PRIMARY KEY (city) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'totals', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO totals
SELECT /*+ STATE_TTL('sold' = '6 h') */ city, SUM(amount) FROM (
  SELECT /*+ STATE_TTL('o' = '1 d', 'customers' = '0 s') */ city, amount
  FROM orders AS o LEFT JOIN customers ON o.customer = customers.id
) AS sold
WHERE city IS NOT NULL
GROUP BY city;
