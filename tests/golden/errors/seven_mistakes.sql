CREATE TABLE orders (
  id BIGNIT,
  customer STRING,
  amount DECIMAL(10, 2),
  placed TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'jsn'
);
CREATE TABLE items (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  placed TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topc' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json',
  'scan.startup.mode' = 'start',
  'scan.parallelism' = '0'
);
CREATE TABLE totals (
  customer STRING,
  total DECIMAL(38, 2)
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'value.format' = 'json'
);
INSERT INTO totals SELECT customer, SUM(amount) FROM items GROUP BY customer;
INSERT INTO nowhere SELECT customer, SUM(amount) FROM items GROUP BY customer;
