CREATE TABLE orders (
  id BIGINT,
  customer STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
SELECT PARSE_JSON(customer) FROM orders;
