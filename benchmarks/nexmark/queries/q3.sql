-- Local item suggestion: who in Oregon, Idaho or California sells in category 10, and what?
CREATE TABLE results (
  name VARCHAR,
  city VARCHAR,
  state VARCHAR,
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '${results}',
  'properties.bootstrap.servers' = '${brokers}',
  'sink.delivery-guarantee' = 'at-least-once',
  'format' = 'json'
);

INSERT INTO results
SELECT P.name, P.city, P.state, A.id
FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');
