"""Functions in Python: found, imported and understood when the script is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from millstream.catalog.functions import UserFunction, load_function, read_function
from millstream.errors import Code, ScriptError
from millstream.source import SourceText
from tests.unit.plan.expressions import read, scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from millstream.errors import Diagnostic

SOURCE = """
import datetime
from decimal import Decimal
import millstream

def double(a: int) -> int:
    return a * 2

def shout(a: str | None, times: "int | None" = 1) -> str:
    return (a or "").upper()

def day(a: datetime.datetime, b: Decimal, c: bool, d: bytes, e: float) -> datetime.date:
    return a.date()

@millstream.udf(arguments=["BIGINT", "ARRAY<STRING>"], result="DECIMAL(10, 2)")
def whole(a, b):
    return a

@millstream.udf(arguments=["NUMBER"], result="INT")
def faulty_type(a):
    return a

def bare(a):
    return a

def listed(a: list) -> int:
    return 1

async def later(a: int) -> int:
    return a

def none(a: int) -> None:
    pass

def nameless(a: "Nothing") -> int:
    return 1

class Own:
    pass

def of_own_class(a: Own) -> int:
    return 1

def generic(a: list[int]) -> int:
    return 1

def generated(a: int) -> int:
    yield a

constant = 5
"""
SPAN = SourceText("s.sql", "CREATE FUNCTION f").span(0, 6)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "user_code.py").write_text(SOURCE)
    (tmp_path / "broken_code.py").write_text("1 / 0")
    monkeypatch.delitem(sys.modules, "user_code", raising=False)
    return tmp_path


def load(folder: Path, implementation: str) -> UserFunction:
    return load_function("f", implementation, SPAN, [folder])


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("double", ["BIGINT"], "BIGINT"),
        ("shout", ["STRING", "BIGINT"], "STRING"),
        ("day", ["TIMESTAMP(6)", "DECIMAL(38, 18)", "BOOLEAN", "BYTES", "DOUBLE"], "DATE"),
        ("whole", ["BIGINT", "ARRAY<STRING>"], "DECIMAL(10, 2)"),
    ],
)
def test_types_come_from_annotations_or_the_decorator(
    folder: Path, name: str, arguments: list[str], result: str
) -> None:
    found = load(folder, f"user_code:{name}")
    assert ([str(type_) for type_ in found.arguments], str(found.result)) == (arguments, result)
    assert found.is_vectorised is (name == "whole")
    assert [module.__name__ for module in found.modules] == ["user_code"]
    assert read_function("f", f"user_code:{name}", SPAN, [folder]) == found


def call(function: UserFunction, argument: int) -> Any:
    assert function.function is not None
    return function.function(argument)


def test_function_behind_a_dot_as_in_flink(folder: Path) -> None:
    assert call(load(folder, "user_code.double"), 4) == 8
    (folder / "inside").mkdir()
    (folder / "inside" / "deeper.py").write_text("def half(a: int) -> int:\n    return a // 2\n")
    assert call(load(folder, "inside.deeper.half"), 4) == 2


def test_search_path_is_the_users_again(folder: Path) -> None:
    before = list(sys.path)
    load(folder, "user_code:double")
    assert sys.path == before


@pytest.mark.parametrize(
    "implementation",
    [
        "user_code", "user_code:", "user_code.", "user_code.missing", "nowhere:f", "broken_code:f", "user_code:missing",
        "user_code:constant",
        "user_code:bare", "user_code:listed", "user_code:faulty_type", "user_code:later", "user_code:none",
        "user_code:nameless", "user_code:of_own_class", "user_code:generic", "user_code.sub:f", "user_code:datetime",
        "user_code:generated",
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_a_diagnostic(folder: Path, implementation: str) -> None:
    with pytest.raises(ScriptError) as caught:
        load(folder, implementation)
    assert caught.value.code is Code.INVALID_FUNCTION
    assert caught.value.diagnostics[0].span == SPAN
    with pytest.raises(ScriptError) as read_only:
        read_function("f", implementation, SPAN, [folder])
    if implementation != "broken_code:f":  # which has no f either
        assert str(read_only.value) == str(caught.value)


def test_calls_are_checked(folder: Path) -> None:
    functions = {"F": load(folder, "user_code:double")}
    text = "f(i) + f(b)"
    assert (
        scope(text, {"i": "INT", "b": "BIGINT"}, functions).bind(read(text)).sql(dialect="flink") == "F(`i`) + F(`b`)"
    )
    for faulty in ("f()", "f(day)", "f(i, i)"):
        with pytest.raises(ScriptError) as caught:
            scope(faulty, {"i": "INT", "day": "DATE"}, functions).bind(read(faulty))
        assert caught.value.code is Code.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("source", "detail", "hint"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3.", None),
        ("def f(", "SyntaxError", None),
        ("import no_such_module", "No module named 'no_such_module'", None),
        ("[].nope", "AttributeError", None),
        (None, "No module named 'odd_code'", "Put odd_code.py beside the script"),
    ],
)
def test_what_a_module_does_is_told(tmp_path: Path, source: str | None, detail: str, hint: str | None) -> None:
    if source is not None:
        (tmp_path / "odd_code.py").write_text(source)
    with pytest.raises(ScriptError) as caught:
        load(tmp_path, "odd_code:f")
    [found] = caught.value.diagnostics
    assert (found.code, detail in (found.detail or "")) == (Code.INVALID_FUNCTION, True)
    assert found.hint is None if hint is None else hint in (found.hint or "")


def test_what_a_module_prints_is_no_part_of_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loud_code.py").write_text("print('hello')\ndef f(a: int) -> int: return a")
    load(tmp_path, "loud_code:f")
    assert capsys.readouterr() == ("", "hello\n")


def test_a_coroutine_is_no_value(folder: Path) -> None:
    with pytest.raises(ScriptError, match="plain `def`"):
        load(folder, "user_code:later")


@pytest.mark.parametrize(("call", "places"), [("f(s, i)", ["s", "i"]), ("f(i, s)", []), ("f(d, s)", ["d"])])
def test_arguments_are_widened_and_never_converted(folder: Path, call: str, places: list[str]) -> None:
    (folder / "typed_code.py").write_text("def f(a: int, b: str | None) -> int: return a")
    columns = {"i": "INT", "s": "STRING", "d": "DOUBLE"}
    known = scope(call, columns, {"F": load(folder, "typed_code:f")})
    found = problems_of(lambda: known.bind(read(call)))
    assert [(one.code, one.span.text) for one in found if one.span] == [(Code.TYPE_MISMATCH, at) for at in places]


def problems_of(check: Callable[[], object]) -> tuple[Diagnostic, ...]:
    try:
        check()
    except ScriptError as error:
        return error.diagnostics
    return ()


def test_modules_of_one_name_beside_two_scripts(tmp_path: Path) -> None:
    span = SourceText("s", "f").span(0, 1)
    found = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "namesakes_of_this_test.py").write_text(f"def f() -> int:\n    return {number}\n")
        found.append(load_function("f", "namesakes_of_this_test:f", span, [folder]))
    assert [function.function() for function in found if function.function] == [1, 2]
