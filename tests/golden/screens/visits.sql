CREATE TABLE visits (
  region STRING,
  visitor BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
CREATE TABLE visitors (
  region STRING,
  different BIGINT,
  PRIMARY KEY (region) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'visitors',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);
INSERT INTO visitors SELECT region, COUNT(DISTINCT visitor) FROM visits GROUP BY region;
