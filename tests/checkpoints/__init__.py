"""Checkpoints of earlier versions, kept to test that jobs can resume from them."""
