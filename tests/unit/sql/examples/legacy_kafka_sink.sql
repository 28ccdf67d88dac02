   create table kafkaSink(
     car_id STRING,
     car_owner STRING,
     car_brand STRING,
     car_speed INT)
   with (
     'connector.type' = 'kafka',
     'connector.version' = '0.10',
     'connector.topic' = 'test-topic',
     'connector.properties.bootstrap.servers' = 'xx.xx.xx.xx:9092',
     'connector.sink-partitioner' = 'round-robin',
     'format.type' = 'csv'
   );
