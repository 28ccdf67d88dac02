"""A place that holds whoever comes by."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from millstream.failpoints import VARIABLE, reach

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_place_holds_once_and_as_long_as_a_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = tmp_path / "gate:1"
    gate.touch()
    monkeypatch.setenv(VARIABLE, f"a-test:2:hold={gate}")
    reach("a-test")
    assert not gate.with_name("gate:1.reached").exists()
    before: list[str] = []
    passed = threading.Event()

    def come_by() -> None:
        reach("a-test", lambda: before.append("done first"))
        passed.set()

    threading.Thread(target=come_by).start()
    while not gate.with_name("gate:1.reached").exists():
        assert not passed.is_set()
    assert before == ["done first"]
    assert not passed.wait(0.1)
    gate.unlink()
    assert passed.wait(10)
    reach("a-test")
