CREATE TABLE orders (
  id BIGINT
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '2.4',
  'topic' = 'orders',
  'connector.propertys.bootstrap.servers' = 'localhost:9092',
  'connector.sink-partitioner' = 'custom',
  'format.type' = 'json',
  'format.ignore-parse-errors' = 'perhaps'
);
CREATE TABLE copies (id BIGINT) WITH (
  'connector' = 'kafka', 'connector.topic' = 'copies', 'bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders;
