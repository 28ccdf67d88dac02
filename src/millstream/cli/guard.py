"""Errors meant for the user become text and an exit code."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from collections.abc import Callable


def guarded(command: Callable[[], int], *, verbose: bool) -> int:
    try:
        return command()
    except MillstreamError as error:
        print(error, file=sys.stderr)
        if verbose and error.__cause__ is not None:
            print("\ncaused by:", file=sys.stderr)
            traceback.print_exception(error.__cause__, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output is gone; there is nobody left to tell.
        sys.stdout = None
        return 1
