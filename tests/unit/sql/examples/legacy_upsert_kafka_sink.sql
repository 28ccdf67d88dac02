   create table upsertKafkaSink(
     car_id STRING,
     car_owner STRING,
     car_brand STRING,
     car_speed INT,
     primary key (car_id) not enforced
   )
   with (
     'connector.type' = 'upsert-kafka',
     'connector.version' = '0.11',
     'connector.topic' = 'test-topic',
     'connector.properties.bootstrap.servers' = 'xx.xx.xx.xx:9092',
     'format.type' = 'csv'
   );
