"""Looking into topics, and writing to them by hand: no script, no job, no Spark."""
