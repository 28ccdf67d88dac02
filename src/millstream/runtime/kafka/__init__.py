"""The Kafka part of a job's life: what is asked of brokers before, between and after its batches."""
