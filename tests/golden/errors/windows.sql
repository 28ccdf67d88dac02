CREATE TABLE orders (id BIGINT, customer STRING, placed TIMESTAMP(3), pieces INT, WATERMARK FOR placed AS placed) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE untimed (id BIGINT, placed TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE changes (id BIGINT, placed TIMESTAMP(3), WATERMARK FOR placed AS placed) WITH (
  'connector' = 'kafka', 'topic' = 'changes', 'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'debezium-json'
);
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE untimed, DESCRIPTOR(placed), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(paid), INTERVAL '1' MINUTE));
SELECT * FROM TABLE(TUMBLE(TABLE orders, placed, INTERVAL '1' MINUTE));
SELECT * FROM TABLE(TUMBLE(orders, DESCRIPTOR(placed), INTERVAL '1' MINUTE));
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed)));
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '1' MONTH));
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '0' MINUTE));
SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), LENGTH => INTERVAL '1' MINUTE));
SELECT * FROM TABLE(TUMBLE(TABLE orders PARTITION BY customer, DESCRIPTOR(placed), INTERVAL '1' MINUTE));
SELECT * FROM TABLE(HOP(TABLE orders, DESCRIPTOR(placed), INTERVAL '5' MINUTE, INTERVAL '7' MINUTE));
SELECT * FROM TABLE(SESSION(TABLE orders PARTITION BY client, DESCRIPTOR(placed), INTERVAL '1' MINUTE));
SELECT * FROM TABLE(SESSION(TABLE changes, DESCRIPTOR(placed), INTERVAL '1' MINUTE));
SELECT TUMBLE_END(placed, INTERVAL '2' MINUTE) FROM orders GROUP BY TUMBLE(placed, INTERVAL '1' MINUTE);
SELECT COUNT(*) FROM orders GROUP BY TUMBLE(placed, INTERVAL '1' MINUTE), TUMBLE(placed, INTERVAL '1' HOUR);
SELECT COUNT(*) FROM orders GROUP BY HOP(placed, INTERVAL '1' MINUTE);
SELECT COUNT(*) FROM orders GROUP BY TUMBLE(pieces, INTERVAL '1' MINUTE);
SELECT COUNT(*) FROM orders GROUP BY ROLLUP (customer), SESSION(placed, INTERVAL '1' MINUTE);
SELECT TUMBLE_START(placed, INTERVAL '1' MINUTE) FROM orders;
SET 'table.exec.emit.early-fire.enabled' = 'true';
