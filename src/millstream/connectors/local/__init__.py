"""Connectors that need no broker: generated rows, files, `print` and `blackhole`."""
