"""Runs jobs for many small batches and measures the resources that they hold: `make endurance`."""
