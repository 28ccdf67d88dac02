"""Functions in Python are understood from the text of their module, and none of its code is run for that."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest

from millstream.catalog.functions import load_function, read_function
from millstream.catalog.module_source import NotReadableError
from millstream.errors import ScriptError
from millstream.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from millstream.catalog.functions import UserFunction

SPAN = SourceText("s.sql", "CREATE FUNCTION f").span(0, 6)
READABLE = {
    "aliased imports": "import datetime as d\nfrom decimal import Decimal as D\ndef f(a: d.date, b: D) -> int: ...",
    "alias of a type": "import decimal\nMoney = decimal.Decimal\ndef f(a: Money) -> Money: ...",
    "optional": "from typing import Optional\nimport typing as t\ndef f(a: Optional[int]) -> t.Union[None, str]: ...",
    "annotated": "from typing import Annotated\ndef f(a: Annotated[int, 'metres']) -> str: ...",
    "late annotations": "from __future__ import annotations\ndef f(a: int | None) -> bytes: ...",
    "text": "def f(a: 'int|None') -> 'str': ...",
    "kinds of parameters": "def f(a: int, /, b: str, *, c: bool = True, **d: int) -> float: ...",
    "defined twice": "def f(a: int) -> int: ...\ndef f(a: str) -> str: ...",
    "another name": "def g(a: int) -> int: ...\nf = g",
    "cached": "import functools\n@functools.lru_cache(maxsize=5)\ndef f(a: int) -> int: ...",
    "udf": "from millstream import udf\n@udf(arguments=('INT',), result='ROW<a INT>')\ndef f(a): ...",
    "cached udf": "import functools, millstream\n"
    "@functools.cache\n@millstream.udf(arguments=[], result='INT')\ndef f(): ...",
    "inner generator": "def f(a: int) -> int:\n    def g(): yield 1\n    return sum(g())",
    "rows": "from collections.abc import Iterator\ndef f(a: int) -> Iterator[tuple[str, int | None]]: yield 'a', 1",
    "rows of one column": "import typing as t\ndef f(a: int) -> t.Iterable[str]: return []",
    "rows of a generator": "from typing import Generator\ndef f(a: int) -> Generator[str, None, None]: yield 'a'",
    "udtf": "from millstream import udtf\n"
    "@udtf(arguments=['INT'], result_types=('INT', 'TIME(3)'))\ndef f(a): yield a, a",
    "other modules": "from part.inner import f",
    "relative": "from part.again import f",
    "types of other modules": "from part.inner import Money\ndef f(a: Money) -> int: ...",
}
REFUSED = {
    "keyword only": ("def f(a: int, *, x: int) -> int: ...", "by position, and x cannot"),
    "any number": ("def f(*x: int) -> int: ...", r"by position, and \*x cannot"),
    "one annotation": ("def f(a) -> int: ...", 'parameter "a" has no annotation'),
    "two annotations": ("def f(a): ...", 'parameter "a" and the result have no annotation'),
    "generator": ("def f(a: int) -> int: yield a", "it yields, and is not declared to give rows"),
    "generator without annotation": ("def f(a: int): yield a", "it yields, and is not declared to give rows"),
    "rows of a type that is none": (
        "from typing import Iterator\ndef f(a: int) -> Iterator[tuple[str, object]]: ...",
        "no SQL type is known",
    ),
    "coroutine": ("async def f(a: int) -> int: ...", "it is a coroutine"),
    "module that is none": ("def f(a: int) -> int: ...", 'module "read_code.g" could not'),
}
UNREADABLE = {
    "decorated": "from functools import wraps\ndef g(h): return h\n@g\ndef f(a: int) -> int: ...",
    "computed": "import operator\nf = operator.itemgetter(1)",
    "class": "class f: ...",
    "conditional": "import sys\n"
    "if sys.platform == 'x':\n    def f(a: int) -> int: ...\nelse:\n    def f(a: str) -> str: ...",
    "star": "from decimal import *",
    "made up": "globals()['f'] = len",
    "by getattr": "def __getattr__(name): return len",
    "global": "def f(a: int) -> int: ...\ndef g():\n    global f\n    f = len\ng()",
    "computed types": "def g(): return int\ndef f(a: g()) -> int: ...",
    "types in variables": "import millstream\nTYPES = ['INT']\n"
    "@millstream.udf(arguments=TYPES, result='INT')\ndef f(a): ...",
    "built in": "from math import sqrt as f",
    "circle": "A = B\nB = A\ndef f(a: A) -> int: ...",
    "circle of functions": "f = g\ng = f",
}


def write(folder: Path, source: str, trace: str = "") -> None:
    inner = "from decimal import Decimal\nMoney = Decimal\ndef f(a: Money) -> int: ...\n"
    files = {
        "read_code.py": source,
        "part/__init__.py": "",
        "part/inner.py": inner,
        "part/again.py": "from .inner import f",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        future, line = text.partition("\n")[::2] if text.startswith("from __future__") else ("", text)
        (folder / name).write_text(f"{future}\n{trace}\n{line}\n")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("read_code", "part")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("case", READABLE)
def test_text_tells_what_an_import_tells(tmp_path: Path, case: str) -> None:
    ran = tmp_path / "ran"
    write(tmp_path, READABLE[case], f"import pathlib; pathlib.Path({str(ran)!r}).touch()")
    read = read_function("f", "read_code:f", SPAN, [tmp_path])
    assert not ran.exists()
    assert not {"read_code", "part", "part.inner"} & set(sys.modules)
    assert read.function is None
    assert read == load_function("f", "read_code:f", SPAN, [tmp_path])
    assert ran.exists()


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("understand", [read_function, load_function])
def test_what_cannot_be_called_is_refused(tmp_path: Path, case: str, understand: Callable[..., UserFunction]) -> None:
    source, why = REFUSED[case]
    write(tmp_path, source)
    module = "read_code.g" if case == "module that is none" else "read_code"
    with pytest.raises(ScriptError, match=why):
        understand("f", f"{module}:f", SPAN, [tmp_path])


def test_a_module_that_another_one_registers_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "read_code.g", importlib.import_module("part.inner"))
    assert read_function("f", "read_code.g:f", SPAN, [tmp_path]).arguments


def test_os_path_is_a_module() -> None:
    """Python may have it frozen, without its source."""
    with pytest.raises((NotReadableError, ScriptError)) as caught:
        read_function("f", "os.path:join", SPAN)
    assert "is not a package" not in str(caught.value)


def test_a_module_that_may_register_others_is_left_open(tmp_path: Path) -> None:
    write(tmp_path, "import sys, math\nsys.modules['read_code.g'] = math")
    with pytest.raises(NotReadableError, match=r"read_code\.g"):
        read_function("f", "read_code.g:f", SPAN, [tmp_path])


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_only_running_tells_is_left_open(tmp_path: Path, case: str) -> None:
    ran = tmp_path / "ran"
    write(tmp_path, UNREADABLE[case], f"import pathlib; pathlib.Path({str(ran)!r}).touch()")
    with pytest.raises(NotReadableError):
        read_function("f", "read_code:f", SPAN, [tmp_path])
    assert not ran.exists()


@pytest.mark.parametrize("source", ["def f(", "return 1", "def f(a: int) -> int: ...\n\0", "(" * 500])
def test_a_module_that_is_not_python(tmp_path: Path, source: str) -> None:
    (tmp_path / "read_code.py").write_text(source)
    with pytest.raises(ScriptError, match="could not be imported"):
        read_function("f", "read_code:f", SPAN, [tmp_path])


def test_a_package_is_not_run_for_a_module_in_it(tmp_path: Path) -> None:
    write(tmp_path, "", f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()")
    found = read_function("f", "part.inner:f", SPAN, [tmp_path])
    assert [str(type_) for type_ in found.arguments] == ["DECIMAL(38, 18)"]
    assert not (tmp_path / "ran").exists()
