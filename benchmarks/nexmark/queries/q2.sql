-- Selection: bids on every 123rd auction.
CREATE TABLE results (
  auction BIGINT,
  price BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'sink.delivery-guarantee' = 'at-least-once',
  'format' = 'json'
);

INSERT INTO results
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
