CREATE TABLE orders (id BIGINT, customer STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
CREATE TABLE copies (id BIGINT) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders WHERE customer;
INSERT INTO copies SELECT SUM(customer) FROM orders;
