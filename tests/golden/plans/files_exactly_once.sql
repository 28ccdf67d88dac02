CREATE TABLE old (id BIGINT, city STRING) WITH (
  'connector' = 'filesystem', 'path' = '/data/old', 'format' = 'parquet');
CREATE TABLE web (id BIGINT, city STRING) WITH (
  'connector' = 'kafka', 'topic' = 'web', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE all_orders (id BIGINT, city STRING) WITH (
  'connector' = 'kafka', 'topic' = 'all-orders', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'all');
INSERT INTO all_orders SELECT id, UPPER(city) FROM old WHERE id > 0 UNION ALL SELECT id, city FROM web;
INSERT INTO all_orders SELECT id, UPPER(city) FROM old;
