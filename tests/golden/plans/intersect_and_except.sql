CREATE TABLE members (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'members', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE clicks (id INT, name STRING) WITH (
  'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE guests (id BIGINT, name STRING, PRIMARY KEY (name, id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'guests', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO guests
SELECT id, name FROM clicks INTERSECT ALL SELECT id, name FROM clicks WHERE id > 5 EXCEPT SELECT id, name FROM members;
