CREATE TABLE orders (id INT, customer STRING, placed TIMESTAMP(3), tags ARRAY<STRING>) WITH ('connector' = 'datagen');
CREATE TABLE customers (name STRING, city STRING) WITH ('connector' = 'datagen');
SELECT id FROM orders ORDER BY placed;
SELECT SUBSTRING(customer, start => 2) FROM orders;
