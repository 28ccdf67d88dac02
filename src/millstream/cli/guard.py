"""Turns errors that are meant for the user into text or JSON, and an exit code."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, InternalError, MillstreamError

if TYPE_CHECKING:
    from collections.abc import Callable


def run_guarded(command: Callable[[], int], *, verbose: bool, as_json: bool = False) -> int:
    """Runs a command. `as_json`: its errors are one object on stdout, `{"errors": […]}`, instead of text on stderr."""
    logging.getLogger().addHandler(logging.NullHandler())  # libraries would print their own messages on an interrupt
    try:
        return command()
    except MillstreamError as error:
        failure = error
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output is gone; what is still buffered would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort
        failure = _internal_error(error, verbose=verbose)
    if as_json:
        print(json.dumps(failure.as_json(), ensure_ascii=False))
    else:
        print(failure, file=sys.stderr)
    if verbose and failure.__cause__ is not None:
        print("\ncaused by:", file=sys.stderr)
        traceback.print_exception(failure.__cause__, file=sys.stderr)
    return failure.exit_code


def _internal_error(error: Exception, *, verbose: bool) -> InternalError:
    first_line = (str(error).strip().splitlines() or [""])[0]
    failure = InternalError(
        Diagnostic(
            Code.INTERNAL,
            f"something went wrong inside Millstream: {type(error).__name__}",
            detail=first_line or None,
            hint=None if verbose else "Run it again with --verbose to see where, and report it.",
        )
    )
    failure.__cause__ = error
    return failure
