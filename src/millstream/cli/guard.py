"""Errors meant for the user become text and an exit code."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, MillstreamError

if TYPE_CHECKING:
    from collections.abc import Callable


def guarded(command: Callable[[], int], *, verbose: bool) -> int:
    logging.getLogger().addHandler(logging.NullHandler())  # libraries would print their own words for an interrupt
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
        # The reader of our output is gone; what is still buffered for it would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort
        first_line = (str(error).strip().splitlines() or [""])[0]
        diagnostic = Diagnostic(
            Code.INTERNAL,
            f"something went wrong inside Millstream: {type(error).__name__}",
            detail=first_line or None,
            hint=None if verbose else "Run it again with --verbose to see where, and report it.",
        )
        print(diagnostic.render(), file=sys.stderr)
        if verbose:
            traceback.print_exc(file=sys.stderr)
        return 1
