"""Parses script text to immutable statements that know their position in it."""
