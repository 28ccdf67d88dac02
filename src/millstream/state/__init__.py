"""Keyed state as immutable files, and the tables that kernels keep in them."""
