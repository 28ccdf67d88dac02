"""Messages that a topic could hold, made at random and read by every decoder in a watched process: `make fuzz`."""
