CREATE TABLE auctions (id BIGINT, category INT, expires TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'topic' = 'auctions', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE bids (auction BIGINT, price BIGINT, placed TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'topic' = 'bids', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
CREATE TABLE highest (auction BIGINT, price BIGINT, PRIMARY KEY (auction) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'highest', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO highest
SELECT id, MAX(price) FROM auctions AS a JOIN bids AS b ON a.id = b.auction AND b.placed <= a.expires
WHERE category NOT IN (SELECT category FROM auctions WHERE expires IS NULL)
GROUP BY id;
