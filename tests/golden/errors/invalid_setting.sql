SET 'parallelism.default' = 'many';
SET 'paralelism.default' = '2';
