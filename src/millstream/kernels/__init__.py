"""Incremental operators on Arrow data: pure, no Spark, no Kafka."""
