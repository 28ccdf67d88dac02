"""Messages to Kafka by producers of our own, which live longer than a batch: transactions, timestamps. No Spark."""
