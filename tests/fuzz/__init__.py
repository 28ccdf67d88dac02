"""Random messages that a topic could contain, decoded by every decoder in a watched process: `make fuzz`."""
