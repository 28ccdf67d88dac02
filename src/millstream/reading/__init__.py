"""Reads topics: which offsets a batch has, and the messages between them as Arrow columns. No Spark."""
