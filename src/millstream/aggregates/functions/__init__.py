"""One module per family of aggregate functions; each lists its records in `FUNCTIONS`, and is found by being here."""
