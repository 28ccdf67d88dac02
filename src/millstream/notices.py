"""Notices to the user during an operation: plain strings, and temporary ones."""

from __future__ import annotations


class Passing(str):
    """A step of a long operation. On a screen the next step replaces it; a log may omit some."""

    __slots__ = ()
