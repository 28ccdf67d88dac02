CREATE TABLE shown (
  customer STRING,
  total DECIMAL(38, 2)
) WITH (
  'connector' = 'print'
);
CREATE TABLE totals (
  customer STRING,
  total DECIMAL(38, 2),
  PRIMARY KEY (customer) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO totals SELECT customer, total FROM shown;
