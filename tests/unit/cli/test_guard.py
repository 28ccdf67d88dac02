"""Errors as text on stderr or as one object on stdout; what lies behind them only with --verbose."""

from __future__ import annotations

import json
from typing import NoReturn

import pytest

from millstream.cli.guard import run_guarded
from millstream.errors import BrokerError, Code, Diagnostic, MillstreamError, ScriptError

SCRIPT = ScriptError(Diagnostic(Code.SYNTAX, "expected a query", hint="Write »SELECT«."))
BROKER = BrokerError(Diagnostic(Code.BROKER_UNREACHABLE, "no broker"))


def failing(error: Exception, cause: Exception | None = None) -> NoReturn:
    raise error from cause


@pytest.mark.parametrize(("error", "exit_code"), [(SCRIPT, 2), (BROKER, 1)])
def test_text(error: MillstreamError, exit_code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(lambda: failing(error), verbose=False) == exit_code
    assert capsys.readouterr() == ("", f"{error}\n")


@pytest.mark.parametrize(("error", "exit_code"), [(SCRIPT, 2), (BROKER, 1)])
def test_json(error: MillstreamError, exit_code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(lambda: failing(error), verbose=False, as_json=True) == exit_code
    shown = capsys.readouterr()
    assert json.loads(shown.out) == error.as_json()
    assert shown.err == ""


def test_unexpected_failure_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(lambda: failing(ZeroDivisionError("by zero")), verbose=False, as_json=True) == 1
    [found] = json.loads(capsys.readouterr().out)["errors"]
    assert (found["code"], found["detail"], found["place"]) == ("M9001", "by zero", None)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_lies_behind_is_for_verbose(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: FBT001
    cause = OSError("connection reset")
    for verbose in (False, True):
        run_guarded(lambda: failing(BROKER, cause), verbose=verbose, as_json=as_json)
        shown = capsys.readouterr()
        assert ("OSError: connection reset" in shown.err) is verbose
        assert "connection reset" not in shown.out


def test_success_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(lambda: 0, verbose=False, as_json=True) == 0
    assert capsys.readouterr() == ("", "")
