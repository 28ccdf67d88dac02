"""Formats: convert bytes to Arrow and back, as pure functions."""
