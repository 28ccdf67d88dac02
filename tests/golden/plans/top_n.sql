CREATE TABLE orders (id BIGINT, product STRING, category STRING, pieces INT, arrived AS PROCTIME()) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE best (category STRING, place BIGINT, product STRING, sold INT, PRIMARY KEY (category, place) NOT ENFORCED)
WITH (
  'connector' = 'upsert-kafka', 'topic' = 'best', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE once (id BIGINT, product STRING) WITH (
  'connector' = 'kafka', 'topic' = 'once', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
INSERT INTO best
SELECT category, place, product, sold FROM (
  SELECT category, product, SUM(pieces) AS sold,
    ROW_NUMBER() OVER (PARTITION BY category ORDER BY SUM(pieces) DESC) AS place
  FROM orders GROUP BY category, product
) WHERE place <= 3 AND sold > 1;
INSERT INTO once
SELECT id, product FROM (
  SELECT id, product, ROW_NUMBER() OVER (PARTITION BY id ORDER BY arrived) AS n FROM orders
) WHERE n = 1;
