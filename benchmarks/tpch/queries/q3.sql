-- Shipping priority: the value of orders that are not shipped yet. All of them, not only the ten largest.
CREATE TABLE results (
  l_orderkey BIGINT,
  revenue DECIMAL(38, 4),
  o_orderdate DATE,
  o_shippriority INT,
  PRIMARY KEY (l_orderkey, o_orderdate, o_shippriority) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO results
SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING'
  AND c_custkey = o_custkey
  AND l_orderkey = o_orderkey
  AND o_orderdate < DATE '1995-03-15'
  AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority;
