-- Average price for a category: of the winning bids of all its auctions.
CREATE TABLE results (
  id BIGINT,
  final BIGINT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO results
SELECT Q.category, AVG(Q.final)
FROM (
  SELECT MAX(B.price) AS final, A.category
  FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  GROUP BY A.id, A.category
) Q
GROUP BY Q.category;
