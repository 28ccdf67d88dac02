CREATE TABLE payments (id BIGINT, customer STRING, amount INT, paid TIMESTAMP(3), arrived AS PROCTIME(),
  WATERMARK FOR paid AS paid - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = 'payments', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE prices (product STRING, shop STRING, price INT, PRIMARY KEY (product, shop) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'prices', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE totals (id BIGINT, total INT, payments BIGINT, more INT) WITH (
  'connector' = 'kafka', 'topic' = 'totals', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE ranked (product STRING, shop STRING, place BIGINT, cheaper INT,
  PRIMARY KEY (product, shop) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'ranked', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO totals
SELECT id, SUM(amount) OVER w, COUNT(*) OVER (w RANGE INTERVAL '1' HOUR PRECEDING), amount - LAG(amount, 1, 0) OVER w
FROM payments WHERE amount > 0
WINDOW w AS (PARTITION BY customer ORDER BY paid);
INSERT INTO totals
SELECT id, MAX(amount) OVER (PARTITION BY customer ORDER BY arrived ROWS 9 PRECEDING),
  ROW_NUMBER() OVER (PARTITION BY customer ORDER BY arrived),
  SUM(amount) FILTER (WHERE amount < 10) OVER (PARTITION BY customer ORDER BY arrived)
FROM payments;
INSERT INTO ranked
SELECT product, shop, RANK() OVER w, LAG(price) OVER w
FROM prices WINDOW w AS (PARTITION BY product ORDER BY price);
