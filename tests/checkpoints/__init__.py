"""Checkpoints that earlier versions have made, kept to see that jobs go on from them."""
