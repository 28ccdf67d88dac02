CREATE TABLE orders (id INT, parts ARRAY<ROW<x INT>>) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'csv',
  'csv.field-delimiter' = '||',
  'csv.quote-character' = '|',
  'csv.disable-quote-character' = 'true'
);
CREATE TABLE copies (id INT) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO copies SELECT id FROM orders;
