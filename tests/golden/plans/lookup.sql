CREATE TABLE payments (id INT, payer BIGINT, amount INT, proc_time AS PROCTIME()) WITH (
  'connector' = 'kafka', 'topic' = 'payments', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE customers (id INT, name STRING, city STRING, place AS UPPER(city), PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'customers', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE joined (id INT, place STRING, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'joined', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
INSERT INTO joined
SELECT p.id, c.place, p.amount
FROM payments AS p LEFT JOIN customers FOR SYSTEM_TIME AS OF p.proc_time AS c
  ON p.payer = c.id AND c.city <> 'oslo' AND p.amount > 5
WHERE p.id > 1;
