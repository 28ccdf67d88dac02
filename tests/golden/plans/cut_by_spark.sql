CREATE TABLE visits (
  page STRING,
  agent STRING,
  millis BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
CREATE TABLE hits (
  page STRING,
  host STRING,
  hour_of_day BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'hits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO hits
  SELECT LOWER(page), PARSE_URL(page, 'HOST'), HOUR(TO_TIMESTAMP_LTZ(millis, 3))
  FROM visits
  WHERE agent LIKE '%Mozilla%' AND millis IS NOT NULL;
