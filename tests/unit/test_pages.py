"""The generated pages tell what the code says now."""

from __future__ import annotations

import pytest

from tools.pages import DOCS, PAGES, Page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)
def test_page_is_up_to_date(page: Page) -> None:
    assert not page.is_stale, f"docs/{page.path.relative_to(DOCS)} is out of date: run `make docs`"
