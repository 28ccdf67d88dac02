-- Returned item reporting: what customers have returned of a quarter's orders. All of them, not only the first twenty.
CREATE TABLE results (
  c_custkey BIGINT,
  c_name STRING,
  revenue DECIMAL(38, 4),
  c_acctbal DECIMAL(15, 2),
  n_name STRING,
  c_address STRING,
  c_phone STRING,
  c_comment STRING,
  PRIMARY KEY (c_custkey) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO results
SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
  c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey
  AND l_orderkey = o_orderkey
  AND o_orderdate >= DATE '1993-10-01'
  AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH
  AND l_returnflag = 'R'
  AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment;
