"""Jobs that run many small batches, and what they hold on to meanwhile: `make endurance`."""
