"""What is said to the user while something goes on: plain strings, and passing ones."""

from __future__ import annotations


class Passing(str):
    """A step of something long. On a screen the next one takes its place; a log may leave some out."""

    __slots__ = ()
