-- Directories: of the address of the page.
CREATE TABLE results (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  channel VARCHAR,
  dir1 VARCHAR,
  dir2 VARCHAR,
  dir3 VARCHAR
) WITH (
  'connector' = 'kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'sink.delivery-guarantee' = 'at-least-once',
  'format' = 'json'
);

INSERT INTO results
SELECT auction, bidder, price, channel,
  SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3
FROM bid;
