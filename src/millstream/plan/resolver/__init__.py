"""From the trees that sqlglot reads to a logical plan: names are bound, types found, problems reported."""
