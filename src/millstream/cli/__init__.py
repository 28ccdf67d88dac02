"""The command line. Terminal, plain and JSON output show the same progress."""
