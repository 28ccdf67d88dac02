"""Tables that a script defines but no job uses: `check` checks them too, `run` need not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from millstream.catalog.catalog import Catalog
    from millstream.catalog.table import CatalogTable
    from millstream.connectors.tables import Sink, Source

_HAS_ONE_ROLE: Final = (Code.NOT_A_SOURCE, Code.NOT_A_SINK)


@dataclass(frozen=True, slots=True)
class Findings:
    errors: tuple[Diagnostic, ...]
    notices: tuple[str, ...]


def find_unused_tables(catalog: Catalog, used: Collection[str], reported: Collection[Diagnostic] = ()) -> Findings:
    """Problems of tables in either role; `reported` are already known."""
    errors: list[Diagnostic] = []
    notices: list[str] = []
    for table in _tables_to_check(catalog, used):
        as_source, as_sink = _resolve(resolve_source, table), _resolve(resolve_sink, table)
        if not any(error in reported for error in (*as_source.errors, *as_sink.errors)):
            errors += _wrong_in_any_role(as_source, as_sink)
        notices += (*as_source.notices, *as_sink.notices)
    return Findings(tuple(dict.fromkeys(errors)), tuple(dict.fromkeys(notices)))


def _tables_to_check(catalog: Catalog, used: Collection[str]) -> Iterator[CatalogTable]:
    """A table without options, or one that others are LIKE, may be only a template."""
    for table in catalog.tables:
        others = {option for other in catalog.tables if other is not table for option in other.options}
        if table.name not in used and table.options and others.isdisjoint(table.options):
            yield table


def _resolve(resolve: Callable[[CatalogTable], Source | Sink], table: CatalogTable) -> Findings:
    try:
        return Findings((), tuple(notice.text for notice in resolve(table).notices))
    except ScriptError as error:
        return Findings(error.diagnostics, ())


def _wrong_in_any_role(as_source: Findings, as_sink: Findings) -> tuple[Diagnostic, ...]:
    for role, other in ((as_source, as_sink), (as_sink, as_source)):
        if any(error.code in _HAS_ONE_ROLE for error in role.errors):
            return other.errors
    if not as_source.errors or not as_sink.errors:
        return ()
    in_both = tuple(error for error in as_source.errors if error in as_sink.errors)
    return in_both or (*as_source.errors, *as_sink.errors)
