CREATE TABLE orders (
  id BIGINT,
  amount DECIMAL(10, 2)
) WITH (
  'connector' = 'filesystem',
  'path' = 'orders',
  'source.path.regex-pattern' = '.*[.]csv',
  'format' = 'csv'
);
SELECT id, amount FROM orders;
