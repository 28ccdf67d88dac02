"""Sizes as texts."""

from __future__ import annotations

import pytest

from millstream.catalog.memory_sizes import format_memory_size, memory_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("17", 17), ("1 kb", 1024), ("3M", 3 << 20), (" 50 gb ", 50 << 30), ("2tebibytes", 2 << 40), ("5 bytes", 5)],
)
def test_size(text: str, size: int) -> None:
    assert memory_size.parse(text) == size


@pytest.mark.parametrize("text", ["", "gb", "1.5 gb", "-1 mb", "1 xb", "0 gb"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        memory_size.parse(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB"), (5 << 50, "5120.0 TiB")],
)
def test_size_as_text(size: int, text: str) -> None:
    assert format_memory_size(size) == text
