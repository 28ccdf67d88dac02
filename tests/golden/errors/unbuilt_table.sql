CREATE TABLE orders (
  id BIGINT,
  waited INTERVAL DAY TO SECOND
) WITH (
  'connector' = 'kafka',
  'topic-pattern' = 'orders-[0-9]+',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.sasl.jaas.config' = 'LoginModule required password="tiger";',
  'format' = 'json'
);
CREATE TABLE copies (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'sink.partitioner' = 'org.mycompany.MyPartitioner',
  'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders WHERE waited IS NOT NULL;
