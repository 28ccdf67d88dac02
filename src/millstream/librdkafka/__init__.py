"""Kafka's C client without a Python object per message: columns of messages in, columns of messages out."""
