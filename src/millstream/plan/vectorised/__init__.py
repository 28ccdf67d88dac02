"""Expressions evaluated on Arrow data, with Spark's results: what rows need not leave Python for."""
