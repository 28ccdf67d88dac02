-- Last bid: the newest of each bidder on each auction.
CREATE TABLE results (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  channel VARCHAR,
  url VARCHAR,
  `dateTime` TIMESTAMP(3),
  extra VARCHAR,
  PRIMARY KEY (bidder, auction) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO results
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rank_number FROM bid
)
WHERE rank_number <= 1;
