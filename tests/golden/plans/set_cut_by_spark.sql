-- what only Spark can do for one reader of a shared scan returns the rows of all of them to Spark
CREATE TABLE visits (page STRING, millis BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'visits', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE hosts (host STRING) WITH (
  'connector' = 'kafka', 'topic' = 'hosts', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE pages WITH ('topic' = 'pages') LIKE hosts (OVERWRITING OPTIONS);
EXECUTE STATEMENT SET BEGIN
  INSERT INTO hosts SELECT PARSE_URL(page, 'HOST') FROM visits;
  INSERT INTO pages SELECT page FROM visits WHERE millis > 0;
END;
