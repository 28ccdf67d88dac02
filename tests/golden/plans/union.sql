CREATE TABLE web (id INT, city STRING) WITH (
  'connector' = 'kafka', 'topic' = 'web', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE shops (number BIGINT, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'shops', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'avro'
);
CREATE TABLE all_orders (id BIGINT, city STRING) WITH (
  'connector' = 'kafka', 'topic' = 'all_orders', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'all'
);
INSERT INTO all_orders SELECT id, city FROM web WHERE id > 0 UNION ALL SELECT number, 'shop' FROM shops;
SELECT id FROM web UNION SELECT number FROM shops;
