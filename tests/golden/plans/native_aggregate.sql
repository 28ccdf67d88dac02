CREATE TABLE views (region STRING, seconds INT, viewer BIGINT) WITH (
  'connector' = 'kafka',
  'topic' = 'views',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
CREATE TABLE totals (region STRING, `views` BIGINT, seconds INT, PRIMARY KEY (region) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'totals',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO totals SELECT region, COUNT(*), SUM(seconds) FROM views GROUP BY region;
SET 'millstream.aggregate.native' = 'never';
INSERT INTO totals SELECT region, COUNT(*), SUM(seconds) FROM views GROUP BY region;
