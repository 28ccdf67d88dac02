CREATE TABLE orders (
  id BIGINT,
  id STRING,
  amount DECIMAL(10, 2),
  placed TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
