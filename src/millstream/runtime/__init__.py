"""The life of a job: the checks before it starts, its checkpoint, its progress and its end."""
