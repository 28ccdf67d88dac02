"""Connectors: what a table's options mean, and which changes it produces and accepts."""
