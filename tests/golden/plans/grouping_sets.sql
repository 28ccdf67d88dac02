CREATE TABLE orders (
  id BIGINT,
  shop STRING,
  item STRING,
  amount BIGINT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
CREATE TABLE totals (
  shop STRING,
  item STRING,
  level BIGINT,
  amount BIGINT,
  PRIMARY KEY (shop, item, level) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO totals
SELECT COALESCE(shop, '-'), COALESCE(item, '-'), GROUPING_ID(shop, item), SUM(amount)
FROM orders
GROUP BY shop, ROLLUP (item);
SELECT shop, COUNT(shop) FROM orders GROUP BY GROUPING SETS (shop, ());
