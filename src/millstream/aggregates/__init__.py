"""Aggregate functions, one record each: the plan, the kernels and Spark ask the record, and none knows a function."""
