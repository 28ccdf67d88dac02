CREATE TABLE orders (id INT, currency STRING, amount INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE rates (currency STRING, rate DECIMAL(10, 4), since TIMESTAMP(3), note STRING,
  PRIMARY KEY (currency) NOT ENFORCED, WATERMARK FOR since AS since) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'rates', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE history (currency STRING, rate DECIMAL(10, 4), seconds BIGINT,
  since AS TO_TIMESTAMP(FROM_UNIXTIME(seconds)), WATERMARK FOR since AS since) WITH (
  'connector' = 'kafka', 'topic' = 'history', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE VIEW latest AS
SELECT currency, rate, since FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY since DESC) AS rn FROM history
) WHERE rn = 1;
CREATE TABLE paid (id INT, amount DECIMAL(38, 4), since TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'topic' = 'paid', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');

INSERT INTO paid
SELECT o.id, o.amount * r.rate, r.since
FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency AND r.rate > 0;

INSERT INTO paid
SELECT o.id, o.amount * r.rate, o.ts
FROM orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency AND r.note <> o.currency;

INSERT INTO paid
SELECT o.id, o.amount * r.rate, o.ts
FROM orders AS o JOIN latest FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency;
