"""M9: internal errors of Millstream."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

FAULT: Final = Group(
    "M9: a fault of Millstream",
    "Nothing that a script can do should lead here.",
    {
        Code.INTERNAL: Explanation(
            "something went wrong inside Millstream",
            cause="Millstream reached a state that it does not handle. That is a bug, whatever the script says.",
            fix="Run it again with --verbose and report what it prints, with the script if you can.",
            example="internal",
        ),
    },
)
