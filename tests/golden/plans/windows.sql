CREATE TABLE orders (id BIGINT, customer STRING, placed TIMESTAMP(3), pieces INT, WATERMARK FOR placed AS placed - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE per_hour (since TIMESTAMP(3), customer STRING, orders BIGINT, products BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'per_hour', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE best (until TIMESTAMP(3), place BIGINT, customer STRING, pieces INT) WITH (
  'connector' = 'kafka', 'topic' = 'best', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE pairs (id BIGINT, other BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'pairs', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE visits (since TIMESTAMP(3), customer STRING, orders BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'visits', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE clicks (id BIGINT, seen AS PROCTIME()) WITH (
  'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE clicks_per_second (until TIMESTAMP(3), clicks BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'cps', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
INSERT INTO per_hour
SELECT window_start, customer, COUNT(*), COUNT(DISTINCT id)
FROM TABLE(HOP(TABLE orders, DESCRIPTOR(placed), INTERVAL '5' MINUTE, INTERVAL '1' HOUR))
WHERE pieces > 0 GROUP BY window_start, window_end, customer HAVING COUNT(*) > 1;
INSERT INTO best
SELECT window_end, place, customer, pieces FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY pieces DESC) AS place FROM (
    SELECT window_start, window_end, customer, SUM(pieces) AS pieces
    FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(placed), INTERVAL '1' HOUR, INTERVAL '1' DAY))
    GROUP BY window_start, window_end, customer
  )
) WHERE place <= 3;
INSERT INTO pairs
SELECT a.id, b.id FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '1' MINUTE)) AS a
LEFT JOIN TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '1' MINUTE)) AS b
ON a.window_start = b.window_start AND a.window_end = b.window_end AND a.customer = b.customer AND a.id < b.id;
INSERT INTO visits
SELECT SESSION_START(placed, INTERVAL '30' MINUTE), customer, COUNT(*) FROM orders
GROUP BY SESSION(placed, INTERVAL '30' MINUTE), customer;
INSERT INTO clicks_per_second
SELECT window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(seen), INTERVAL '1' SECOND))
GROUP BY window_start, window_end;
