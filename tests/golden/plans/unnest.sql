CREATE TABLE orders (id BIGINT, customer STRING, tags ARRAY<STRING>, items ARRAY<ROW<sku STRING, n INT>>, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE positions (id BIGINT, place INT, sku STRING, n INT, PRIMARY KEY (id, place) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'positions', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO positions
SELECT o.id, i.place, i.sku, i.n FROM orders AS o CROSS JOIN UNNEST(o.items) WITH ORDINALITY AS i (sku, n, place)
WHERE i.n > 0;
SELECT word, COUNT(*) FROM orders LEFT JOIN UNNEST(SPLIT(customer, ' ')) AS words (word) ON TRUE GROUP BY word;
CREATE TABLE baskets (id BIGINT, tags ARRAY<STRING>) WITH (
  'connector' = 'kafka', 'topic' = 'baskets', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE tags (id BIGINT, tag STRING) WITH (
  'connector' = 'kafka', 'topic' = 'tags', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE by_tag (tag STRING, n BIGINT, PRIMARY KEY (tag) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'by_tag', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
EXECUTE STATEMENT SET BEGIN
  INSERT INTO tags SELECT id, tag FROM baskets, UNNEST(tags) AS tag;
  INSERT INTO by_tag SELECT tag, COUNT(*) FROM baskets, UNNEST(tags) AS tag GROUP BY tag;
END;
EXECUTE STATEMENT SET BEGIN
  INSERT INTO tags SELECT id, SPLIT(tag, 'x')[1] FROM baskets, UNNEST(tags) AS tag;
  INSERT INTO by_tag SELECT tag, COUNT(*) FROM baskets, UNNEST(tags) AS tag GROUP BY tag;
END;
