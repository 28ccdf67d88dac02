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
  total TIMESTAMP_LTZ(3),
  PRIMARY KEY (customer) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'avro',
  'value.format' = 'avro'
);
INSERT INTO totals SELECT customer, placed FROM orders;
