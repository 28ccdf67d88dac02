"""The functions and operators of Flink SQL, declared once: what they take, what they give, how Spark computes them."""
