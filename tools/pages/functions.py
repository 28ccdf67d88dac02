"""The reference of all functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.plan.functions.registry import FUNCTIONS, MISSING
from millstream.sql.functions import Category

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.sql.functions import Function, Missing

_HEAD: Final = """# Functions

All functions and operators of Flink 2.2 that Millstream supports. If the last column is empty, the result is the same
as in Flink; otherwise it says what differs. A parameter in brackets is optional; an ellipsis repeats the last one.
NUMBER is any numeric type, INTEGER any without fraction digits. The session's time zone is UTC.

You can add functions in Python: `CREATE FUNCTION f AS 'module:function' LANGUAGE PYTHON`. A function with annotations
(`def f(a: int, b: str | None) -> float`) is called for each row; one decorated with
`@millstream.udf(arguments=["BIGINT"], result="STRING")` is called with whole pyarrow arrays.

`CAST(value AS type)` fails the job if a text cannot be parsed; `TRY_CAST` returns NULL instead. A number that does not
fit an integer type also fails the job, where Flink continues with other digits; one that does not fit a DECIMAL is
NULL.

A STRING is compared with a number as in Flink. `<`, `<=`, `>`, `>=` and `BETWEEN` parse it as a number, and as a
BIGINT if the other side is an integer, so that `'10.5' > 10` is false; a text that is not a number fails the job. `IN`
compares a STRING with numbers as texts, and a number with STRINGs as numbers. `=` and `<>` need a CAST. Maps are equal
if they have the same keys with equal values; a NULL value equals no other.

The units of `TIMESTAMPADD` and `TIMESTAMPDIFF` may have ODBC's names, such as `SQL_TSI_DAY`.
"""


def functions_page() -> str:
    return "\n".join([_HEAD, *(line for category in Category for line in _section(category))])


def _section(category: Category) -> Iterator[str]:
    yield f"## {category}\n"
    yield "| function | result | differs from Flink |"
    yield "|---|---|---|"
    for function in FUNCTIONS.values():
        if function.category is category:
            yield f"| {_forms(function)} | {_results(function)} | {_cell(function.note)} |"
    for missing in MISSING.values():
        if missing.category is category:
            yield f"| `{missing.name}` |  | {_cell(_absence(missing))} |"
    yield ""


def _forms(function: Function) -> str:
    return "<br>".join(f"`{_cell(form)}`" for form in function.forms)


def _results(function: Function) -> str:
    return "<br>".join(dict.fromkeys(_cell(sign.result_text) for sign in function.signatures))


def _absence(missing: Missing) -> str:
    return f"Not there. {missing.reason}{f' {missing.instead}' if missing.instead else ''}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
