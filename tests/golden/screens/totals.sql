CREATE TABLE orders (
  customer STRING,
  amount INT,
  quantity STRING
) WITH (
  'connector' = 'kafka',
  'topic' = '${orders}',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);
CREATE TABLE totals (
  customer STRING,
  total BIGINT,
  PRIMARY KEY (customer) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${totals}',
  'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO totals SELECT customer, SUM(amount) FROM orders GROUP BY customer;
