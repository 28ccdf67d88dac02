"""Delivers messages to Kafka by our own producers, which outlive a batch: transactions, timestamps. No Spark."""
