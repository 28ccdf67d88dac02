CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestmp',
  part ARRAY<INT> METADATA FROM 'partition' VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
SELECT id, `at`, part FROM orders;
