"""The command line; terminal, plain and JSON output listen to the same progress."""
