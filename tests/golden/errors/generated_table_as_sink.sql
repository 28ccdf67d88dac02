CREATE TABLE orders (
  id BIGINT,
  price DECIMAL(6, 2)
) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '5',
  'fields.id.kind' = 'sequence',
  'fields.price.min' = '10000',
  'fields.prise.max' = '10'
);

CREATE TABLE generated (
  id BIGINT,
  price DECIMAL(6, 2)
) WITH (
  'connector' = 'datagen'
);

INSERT INTO generated SELECT id, price FROM orders;
