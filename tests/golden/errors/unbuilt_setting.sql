SET 'table.exec.state.ttl' = '1 d';
SET 'table.local-time-zone' = 'Europe/Berlin';
SET 'execution.runtime-mode' = 'sometimes';
