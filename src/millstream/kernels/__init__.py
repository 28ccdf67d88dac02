"""Incremental operators on Arrow data, without Spark or Kafka."""
