CREATE CATALOG elsewhere WITH ('type' = 'hive', 'hive-conf-dir' = '/etc/hive');
