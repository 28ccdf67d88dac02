"""Write the generated pages: python -m tools.pages, or `make docs`."""

from __future__ import annotations

from tools.pages import DOCS, PAGES

for page in PAGES:
    if page.is_stale:
        page.write()
        print(f"written: docs/{page.path.relative_to(DOCS)}")
