CREATE TABLE orders (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic-pattern' = 'orders-[0-9]+',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.jaas.config' = 'LoginModule required password="tiger";',
  'format' = 'json'
);
CREATE TABLE copies (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'copies',
  'sink.partitioner' = 'org.mycompany.MyPartitioner',
  'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders;
