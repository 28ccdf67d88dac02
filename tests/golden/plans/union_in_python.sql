-- what is done with the rows of a union is done with those of each input where they are in Python
CREATE TABLE web (id INT, city STRING, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'web', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE shops (number BIGINT, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'shops', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'csv');
CREATE TABLE returned (id BIGINT, city STRING, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'returned', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'debezium-json');
CREATE TABLE large (id BIGINT, city STRING) WITH (
  'connector' = 'kafka', 'topic' = 'large', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'large');
CREATE TABLE totals (city STRING, n BIGINT, amount DECIMAL(38, 2), PRIMARY KEY (city) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'totals', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE hosts (host STRING) WITH (
  'connector' = 'kafka', 'topic' = 'hosts', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE VIEW orders AS
  SELECT id, city, amount FROM web UNION ALL SELECT number, 'shop', price FROM shops;
INSERT INTO large SELECT id, UPPER(city) FROM orders WHERE amount > 100;
INSERT INTO totals SELECT city, COUNT(*), SUM(amount) FROM (
  SELECT * FROM orders UNION ALL SELECT * FROM returned) AS all_of_them WHERE amount > 0 GROUP BY city;
INSERT INTO hosts SELECT PARSE_URL(city, 'HOST') FROM orders WHERE amount > 0;
