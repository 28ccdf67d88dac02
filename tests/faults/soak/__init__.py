"""Jobs that write exactly once, killed at random for as long as one likes: `make soak`."""
