"""The Kafka part of a job's life: the requests to brokers before, between and after its batches."""
