"""The Kafka connectors: `kafka` and `upsert-kafka`, their options and the rules among them."""
