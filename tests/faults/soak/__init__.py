"""Kills exactly-once jobs at random, for as long as you like: `make soak`."""
