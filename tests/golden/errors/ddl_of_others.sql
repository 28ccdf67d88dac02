CREATE TABLE days (id INT) PARTITIONED BY (country STRING) STORED AS parquet TBLPROPERTIES ('owner' = 'me');
CREATE EXTERNAL TABLE files (id INT) LOCATION '/data';
CREATE TABLE lines (id INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',';
CREATE TABLE untyped (id, name STRING) WITH ('connector' = 'print');
CREATE FUNCTION parse AS 'com.example.Parse';
CREATE TEMPORARY FUNCTION split AS 'com.example.Split' LANGUAGE JAVA USING JAR '/split.jar';
SELECT id FROM 12;
SELECT id FROM 'days';
SET 'table.exec.iceberg.infer-source-parallelism' = 'true';
