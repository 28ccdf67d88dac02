-- INSERTs of a set that read one table share its scan, also through a view; another table is read apart
CREATE TABLE orders (id INT, shop STRING, customer STRING, amount INT, note STRING) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE prices (shop STRING, price INT, currency STRING, PRIMARY KEY (shop) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'prices', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE large (id INT, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'large', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE counts (shop STRING, n BIGINT, PRIMARY KEY (shop) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'counts', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE customers WITH ('topic' = 'customers') LIKE counts (OVERWRITING OPTIONS);
CREATE TABLE cheap WITH ('topic' = 'cheap') LIKE counts (OVERWRITING OPTIONS);
CREATE TABLE copied WITH ('topic' = 'copied') LIKE prices (OVERWRITING OPTIONS);
CREATE VIEW paid AS SELECT shop, customer, amount FROM orders WHERE amount > 0;
EXECUTE STATEMENT SET BEGIN
  INSERT INTO large SELECT id, amount FROM orders WHERE amount >= 10;
  INSERT INTO counts SELECT shop, COUNT(*) FROM paid GROUP BY shop;
  INSERT INTO customers SELECT shop, COUNT(DISTINCT customer) FROM paid GROUP BY shop;
  INSERT INTO cheap SELECT shop, price FROM prices WHERE price < 10;
  INSERT INTO copied SELECT * FROM prices;
  INSERT INTO counts SELECT shop, COUNT(*) FROM orders /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */ GROUP BY shop;
END;
