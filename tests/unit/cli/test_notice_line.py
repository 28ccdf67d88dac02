from __future__ import annotations

import io

from millstream.cli.notice_line import NoticeLine
from millstream.notices import Passing


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_passing_notices_take_each_others_place_in_a_terminal() -> None:
    stream = Terminal()
    say = NoticeLine(stream)
    for notice in (Passing("one"), Passing("two"), "done"):
        say(notice)
    clear = "\r\x1b[2K"
    assert stream.getvalue() == f"{clear}one{clear}two{clear}done\n"


def test_passing_notices_are_rare_in_a_pipe() -> None:
    stream = io.StringIO()
    say = NoticeLine(stream)
    for number in range(100):
        say(Passing(str(number)))
    say("done")
    assert stream.getvalue() == "0\ndone\n"
