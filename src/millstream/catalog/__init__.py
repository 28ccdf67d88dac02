"""Tables as the script declares them, and the options they can be declared with."""
