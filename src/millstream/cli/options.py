"""`millstream options`: the options of a WITH clause, from the declarations that check them."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from millstream.connectors.local.filesystem import IDENTIFIER as FILESYSTEM
from millstream.connectors.reference import Entry, OptionEntry, connectors, file_formats, formats
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDEST: Final = 100


def show_options(name: str | None, *, as_json: bool) -> int:
    files = file_formats()
    entries = (*connectors(), *formats(), *files)
    chosen = [entry for entry in entries if name is None or entry.identifier == name.lower()]
    if not chosen:
        raise ScriptError(_undefined_option(str(name), list(dict.fromkeys(entry.identifier for entry in entries))))
    if name is not None and name.lower() == FILESYSTEM:
        chosen += files
    if as_json:
        print(json.dumps([asdict(entry) for entry in chosen], ensure_ascii=False))
    else:
        print("\n".join(_overview(entries) if name is None else _format_in_full(chosen)))
    return 0


def _overview(entries: tuple[Entry, ...]) -> Iterator[str]:
    for kind in ("connector", "format", "file format"):
        yield f"{kind}s"
        for entry in entries:
            if entry.kind == kind:
                yield from _wrap(entry.doc, f"  {entry.identifier:24}", " " * 26)
        yield ""
    yield "millstream options NAME shows the options of one."


def _format_in_full(entries: list[Entry]) -> Iterator[str]:
    for entry in entries:
        yield f"{entry.kind} {entry.identifier}"
        yield from _wrap(entry.summary, "  ", "  ")
        yield ""
        for option in entry.options:
            yield from _option(option)
        if entry.metadata:
            yield "  metadata columns"
            for part in entry.metadata:
                yield from _wrap(f"{part.type}, {part.access}. {part.doc}", f"    {part.key:26}", " " * 30)
            yield ""
        if entry.legacy_options:
            yield "  only with 'connector.type'"
            for option in entry.legacy_options:
                yield from _option(option)


def _option(option: OptionEntry) -> Iterator[str]:
    facts = [option.type]
    facts += [f"needed {option.needed}"] if option.needed else []
    facts += [f"default {option.default}"] if option.default else []
    facts += [option.role] if option.role and option.role != "source and sink" else []
    facts += ["secret"] if option.is_secret else []
    yield f"  '{option.key}'  {', '.join(facts)}"
    if option.doc:
        yield from _wrap(option.doc, "      ", "      ")
    for value, meaning in option.values:
        yield from _wrap(f"{value}: {meaning}" if meaning else value, "        ", "          ")
    if option.without_effect:
        yield from _wrap(f"No effect here: {option.without_effect}", "      ", "      ")
    if option.legacy:
        yield f"      also: {', '.join(option.legacy)}"
    yield ""


def _wrap(text: str, first: str, others: str) -> list[str]:
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_long_words=False) or [first]


def _undefined_option(name: str, known: list[str]) -> Diagnostic:
    near = nearest(name, known)
    return Diagnostic(
        Code.BAD_ARGUMENT,
        f'there is no connector or format "{name}"',
        detail=f"There are: {', '.join(known)}.",
        hint=f'Did you mean "{near}"?' if near else "Write one of these names, or none to see them all.",
    )
