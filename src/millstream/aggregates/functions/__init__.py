"""One module per family of aggregate functions; every module here is loaded, and lists its records in `FUNCTIONS`."""
