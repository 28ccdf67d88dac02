"""Tables as the script declares them, and the options that they can have."""
