CREATE TABLE orders (id INT, customer STRING, amount INT) WITH ('connector' = 'datagen');
CREATE TABLE customers (name STRING, city STRING, id INT) WITH ('connector' = 'datagen');
SELECT name FROM customers INTERSECT SELECT name, city FROM customers;
SELECT name FROM customers EXCEPT ALL SELECT id FROM orders;
SELECT name FROM customers EXCEPT BY NAME SELECT name FROM customers;
