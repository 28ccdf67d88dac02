"""What travels through Spark's exceptions arrives whole."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from millstream.spark.failures import UndecodableMessageError, job_error, null_in_key

PLAN = f"== plan ==\nraise_error({null_in_key('customer', 'totals')})"


@pytest.mark.parametrize("text", ["plain", "a >> b", 'with "quotes" and \\', "two\nlines"])
def test_undecodable_message(text: str) -> None:
    raised = UndecodableMessageError("orders", 3, 42, text)
    error = job_error("totals", RuntimeError(f"Traceback\nmillstream.UndecodableMessageError: {raised}\n{PLAN}"))
    assert error.code is Code.UNDECODABLE_MESSAGE
    assert error.diagnostics[0].detail == f"topic orders, partition 3, offset 42: {text}"


def test_null_in_key() -> None:
    error = job_error("j", RuntimeError(f"[USER_RAISED_EXCEPTION] {null_in_key('customer', 'totals')} SQLSTATE"))
    assert error.code is Code.NULL_IN_KEY
    assert '"customer"' in error.diagnostics[0].primary


def test_mark_in_the_plan_is_no_cause() -> None:
    error = job_error("j", RuntimeError(f"boom\nCaused by: java.io.IOException: disk full\n{PLAN}"))
    assert error.code is Code.JOB_FAILED
    assert error.diagnostics[0].detail == "disk full"
