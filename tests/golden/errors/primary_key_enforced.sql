CREATE TABLE totals (
  customer STRING,
  total DECIMAL(38, 2),
  PRIMARY KEY (customer)
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
