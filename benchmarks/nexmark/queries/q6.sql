-- Average selling price by seller: of the last 10 closed auctions of each.
CREATE TABLE results (
  seller BIGINT,
  avg_price BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'sink.delivery-guarantee' = 'at-least-once',
  'format' = 'debezium-json'
);

INSERT INTO results
SELECT Q.seller,
  AVG(Q.price) OVER (PARTITION BY Q.seller ORDER BY Q.`dateTime` ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
FROM (
  SELECT * FROM (
    SELECT A.id, A.seller, B.price, B.`dateTime`,
      ROW_NUMBER() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC) AS rownum
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  )
  WHERE rownum <= 1
) AS Q;
