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
