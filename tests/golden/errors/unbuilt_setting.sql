SET 'table.sql-dialect' = 'hive';
SET 'table.local-time-zone' = 'Europe/Berlin';
SET 'execution.runtime-mode' = 'sometimes';
