CREATE TABLE 订单 (
  编号 BIGINT 客户 STRING,
  "amount" DECIMAL(10, 2),
  order STRING,
  placed TIMESTAMP(3),
) WITH (
  'connector' = kafka,
  'topic' 'orders',
  'format' == 'json'
);
CREATE TABEL totals (total BIGINT);
SELECT total, FROM totals WHERE (total = 1;
EXECUTE STATEMENT SET BEGIN
INSERT INTO totals SELECT 1;
