CREATE TABLE orders (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092', 'sasl.jaas.config' = 'LoginModule required password="tiger";',
  'properties.ssl.key.password' = 'tiger', 'ssl.key.password' = 'lion',
  'format' = 'json'
);
CREATE TABLE copies (id BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'copies', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders;
