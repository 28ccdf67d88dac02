CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  placed TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
CREATE TABLE totals (
  customer STRING,
  total BIGINT,
  PRIMARY KEY (customer) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO totals
SELECT UPPER(o.customer), COUNT(*) FILTER (WHERE amount > 1) + COUNT(DISTINCT id)
FROM orders AS o
WHERE id IS NOT NULL
GROUP BY UPPER(o.customer);
