-- Bounded side input: Flink cannot look rows up in files, so the bids are joined with all of them.
CREATE TABLE side_input (
  `key` BIGINT,
  `value` VARCHAR
) WITH (
  'connector' = 'filesystem',
  'path' = '${folder}/side_input',
  'format' = 'csv'
);

CREATE TABLE results (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  `dateTime` TIMESTAMP(3),
  `value` VARCHAR
) WITH (
  'connector' = 'kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'sink.delivery-guarantee' = 'at-least-once',
  'format' = 'json'
);

INSERT INTO results
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM bid AS B JOIN side_input AS S ON MOD(B.auction, 10000) = S.`key`;
