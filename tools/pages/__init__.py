"""Generates documentation pages from the code, so that they cannot differ from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.pages.errors import errors_page
from tools.pages.functions import functions_page
from tools.pages.options import connectors_page, formats_page
from tools.pages.settings import settings_page

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS: Final = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True, slots=True)
class Page:
    path: Path
    make: Callable[[], str]

    @property
    def is_stale(self) -> bool:
        return not self.path.exists() or self.path.read_text(encoding="utf-8") != self.make()

    def write(self) -> None:
        self.path.write_text(self.make(), encoding="utf-8")


PAGES: Final = (
    Page(DOCS / "reference" / "connectors.md", connectors_page),
    Page(DOCS / "reference" / "formats.md", formats_page),
    Page(DOCS / "reference" / "functions.md", functions_page),
    Page(DOCS / "reference" / "errors.md", errors_page),
    Page(DOCS / "reference" / "settings.md", settings_page),
)
