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
CREATE TABLE copies (
  id BIGINT,
  customer STRING,
  amount DECIMAL(10, 2),
  placed TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO copies SELECT * FROM orders WHERE amount > 10 AND customer <> 'x';
