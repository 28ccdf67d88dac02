"""The operators of a logical plan: one module says everything about one of them."""
