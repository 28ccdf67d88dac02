CREATE TABLE orders (id INT) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'avro-confluent',
  'avro-confluent.schema' = '{"type": "record", "name": "order", "fields": [{"name": "id", "type": "long"}]}'
);
CREATE TABLE copies (id INT) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders;
