"""Explanations of all error codes: what they mean, why they occur, what to do, and a screen that shows them.

A new code needs one entry in the module of its group, and a golden screen with the name given there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.error_catalogue.changelog import CHANGELOG
from millstream.error_catalogue.explanation import Explanation, Group
from millstream.error_catalogue.fault import FAULT
from millstream.error_catalogue.job import JOB
from millstream.error_catalogue.kafka import KAFKA
from millstream.error_catalogue.machine import MACHINE
from millstream.error_catalogue.table import TABLE
from millstream.error_catalogue.text import TEXT

if TYPE_CHECKING:
    from millstream.errors import Code

__all__ = ["GROUPS", "Explanation", "Group", "explanation_of"]

GROUPS: Final = (TEXT, TABLE, CHANGELOG, KAFKA, JOB, MACHINE, FAULT)


def explanation_of(code: Code) -> Explanation:
    return _ALL[code]


_ALL: Final = {code: explanation for group in GROUPS for code, explanation in group.explanations.items()}
