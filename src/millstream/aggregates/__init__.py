"""Aggregate functions, one record each: the plan, the kernels and Spark use the record and know no function by name."""
