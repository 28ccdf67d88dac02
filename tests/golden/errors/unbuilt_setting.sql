SET 'table.exec.source.idle-timeout' = '5 s';
SET 'table.local-time-zone' = 'Europe/Berlin';
SET 'execution.runtime-mode' = 'sometimes';
