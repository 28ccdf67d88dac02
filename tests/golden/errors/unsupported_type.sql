CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  placed INTERVAL DAY
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
