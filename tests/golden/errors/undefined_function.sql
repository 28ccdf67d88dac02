CREATE TABLE orders (id BIGINT, customer STRING, placed TIMESTAMP(3)) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
CREATE TABLE copies (customer STRING, part STRING, day STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO copies
SELECT UPPR(customer), SUBSTRING(id FROM 2), DATE_FORMAT(placed) FROM orders;
INSERT INTO copies SELECT customer, customer, customer FROM orders WHERE placed > id;
