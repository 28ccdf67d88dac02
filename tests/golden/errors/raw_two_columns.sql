CREATE TABLE texts (id INT, text STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'texts',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'raw',
  'raw.charset' = 'klingon'
);
CREATE TABLE copies (id INT, text STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'copies',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);
INSERT INTO copies SELECT id, text FROM texts;
