-- The tables that the queries read, each in a topic of its own.
CREATE TABLE orders (
  o_orderkey BIGINT,
  o_custkey BIGINT,
  o_orderstatus STRING,
  o_totalprice DECIMAL(15, 2),
  o_orderdate DATE,
  o_orderpriority STRING,
  o_shippriority INT,
  PRIMARY KEY (o_orderkey) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = '${input}-orders',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'debezium-json'
);

CREATE TABLE lineitem (
  l_orderkey BIGINT,
  l_linenumber INT,
  l_suppkey BIGINT,
  l_quantity BIGINT,
  l_extendedprice DECIMAL(15, 2),
  l_discount DECIMAL(15, 2),
  l_returnflag STRING,
  l_shipdate DATE,
  PRIMARY KEY (l_orderkey, l_linenumber) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = '${input}-lineitem',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'debezium-json'
);

CREATE TABLE customer (
  c_custkey BIGINT,
  c_name STRING,
  c_address STRING,
  c_nationkey BIGINT,
  c_phone STRING,
  c_acctbal DECIMAL(15, 2),
  c_mktsegment STRING,
  c_comment STRING,
  PRIMARY KEY (c_custkey) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${input}-customer',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.bounded.mode' = 'latest-offset',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE supplier (
  s_suppkey BIGINT,
  s_name STRING,
  s_nationkey BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '${input}-supplier',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'json'
);

CREATE TABLE nation (
  n_nationkey BIGINT,
  n_name STRING,
  n_regionkey BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '${input}-nation',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'json'
);

CREATE TABLE region (
  r_regionkey BIGINT,
  r_name STRING
) WITH (
  'connector' = 'kafka',
  'topic' = '${input}-region',
  'properties.bootstrap.servers' = '${brokers}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'json'
);
