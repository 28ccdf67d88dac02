"""A job's life: checks before it starts, its checkpoint, its progress, its end."""
