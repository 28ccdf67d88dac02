"""How a logical plan runs: what each operator runs on, what is read once, where rows are exchanged, who writes."""
