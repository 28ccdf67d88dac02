CREATE TABLE orders (id INT, customer STRING, placed TIMESTAMP(3), tags ARRAY<STRING>) WITH ('connector' = 'datagen');
CREATE TABLE customers (name STRING, city STRING) WITH ('connector' = 'datagen');
SELECT id FROM orders ORDER BY placed;
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '1' MINUTE)) GROUP BY window_start;
SELECT COUNT(*) FROM orders GROUP BY HOP(placed, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE);
SELECT customer, COUNT(*) FROM orders GROUP BY SESSION(placed, INTERVAL '5' MINUTE), customer;
SELECT customer FROM TABLE(SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(placed), INTERVAL '5' MINUTE));
SELECT SUBSTRING(customer, start => 2) FROM orders;
