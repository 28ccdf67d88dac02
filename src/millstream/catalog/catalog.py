"""What a script has created so far: tables, views and functions, by their full names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from millstream.catalog.databases import Databases
from millstream.catalog.like import merge_like
from millstream.catalog.numbered_properties import find_unpaired_properties, name_properties
from millstream.catalog.table import CatalogTable, CatalogView, contradictions, table_of
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import nearest
from millstream.sql.statements import CreateTable, ObjectKind, ObjectName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from millstream.catalog.databases import Database
    from millstream.catalog.functions import UserFunction
    from millstream.source import Span
    from millstream.sql.statements import (
        AlterTableRename,
        AlterTableReset,
        AlterTableSet,
        CreateView,
        Drop,
        DropCatalog,
        DropDatabase,
        Name,
    )

Relation = CatalogTable | CatalogView
R = TypeVar("R", CatalogTable, CatalogView)


class Catalog:
    """Functions belong to all databases."""

    def __init__(self) -> None:
        self.databases = Databases()
        self._homes: dict[str, Database] = {}
        """The database of each table and view."""
        self._seen_from: dict[tuple[str, bool], Database] = {}
        """The database that was in use when a view was created, by its name and whether it is temporary."""
        self._relations: dict[str, Relation] = {}
        self._functions: dict[str, UserFunction] = {}
        self._covered: dict[str, Relation] = {}
        """What a temporary table or view of the same name hides until it is dropped."""
        self._dropped: dict[str, Span] = {}
        """Where a table or view was dropped: views may still refer to it."""

    def copy(self) -> Catalog:
        twin = Catalog()
        twin.databases = self.databases.copy()
        twin._homes = dict(self._homes)
        twin._seen_from = dict(self._seen_from)
        twin._relations = dict(self._relations)
        twin._functions = dict(self._functions)
        twin._covered = dict(self._covered)
        twin._dropped = dict(self._dropped)
        return twin

    @property
    def tables(self) -> tuple[CatalogTable, ...]:
        return tuple(found for found in self._relations.values() if isinstance(found, CatalogTable))

    @property
    def views(self) -> tuple[CatalogView, ...]:
        return tuple(found for found in self._relations.values() if isinstance(found, CatalogView))

    @property
    def functions(self) -> Mapping[str, UserFunction]:
        """By name in upper case: names of functions are case-insensitive."""
        return self._functions

    def as_seen_by(self, view: CatalogView) -> Catalog:
        """The catalog in which the query of a view is read."""
        twin = self.copy()
        twin.databases.current = self._seen_from[view.name, view.is_temporary]
        return twin

    def relations_in(self, database: Database) -> tuple[Relation, ...]:
        return tuple(found for name, found in self._relations.items() if self._homes[name] == database)

    def path_of(self, relation: Relation) -> tuple[str, ...]:
        """Its name in parts, without the default ones."""
        return self._homes[relation.name].path_of(relation.name)

    def drop_catalog(self, statement: DropCatalog) -> None:
        for database in self.databases.drop_catalog(statement):
            self._drop_relations(database)

    def drop_database(self, statement: DropDatabase) -> None:
        before = self.databases.copy()
        database = self.databases.drop_database(statement)
        if database is None:
            return
        tables = self.relations_in(database)
        if tables and not statement.cascades:
            self.databases = before
            raise ScriptError(
                Diagnostic(
                    Code.UNSUPPORTED_STATEMENT,
                    f'database "{database}" is not empty',
                    statement.name.span,
                    detail=f"It has: {', '.join(self.path_of(table)[-1] for table in tables)}.",
                    hint="Drop these first, or write DROP DATABASE … CASCADE.",
                )
            )
        self._drop_relations(database)

    def _drop_relations(self, database: Database) -> None:
        for relation in self.relations_in(database):
            del self._relations[relation.name]
            self._covered.pop(relation.name, None)

    def create_table(self, statement: CreateTable) -> None:
        """A contradictory table is refused but kept, so that statements that use it can be checked."""
        if self._is_taken(statement):
            return
        base = self.table(statement.like.table) if statement.like is not None else None
        name = ObjectName((self._own_name(statement.name),), statement.name.span)
        named = replace(statement, name=name, options=name_properties(statement.options))
        whole = named if base is None else merge_like(named, base)
        self._keep(table_of(whole), self.databases.database_of(statement.name))
        if found := [*contradictions(whole), *find_unpaired_properties(statement.options)]:
            raise ScriptError(found)

    def create_view(self, statement: CreateView, columns: tuple[str, ...]) -> None:
        """`columns` are those of the view's query, with the names from the statement."""
        if self._is_taken(statement):
            return
        name = self._own_name(statement.name)
        view = CatalogView(name, columns, statement.query, statement.span, statement.comment, statement.is_temporary)
        self._keep(view, self.databases.database_of(statement.name))
        self._seen_from[name, view.is_temporary] = self.databases.current

    def create_function(self, function: UserFunction, *, if_not_exists: bool) -> None:
        first = self._functions.get(function.name.upper())
        if first is None:
            self._functions[function.name.upper()] = function
        elif not if_not_exists:
            raise ScriptError(
                Diagnostic(
                    Code.DUPLICATE_TABLE,
                    f'function "{function.name}" already exists',
                    function.span,
                    detail=f"It was created at {first.span.source.name}:{first.span.line}.",
                    hint="Choose another name, or write CREATE FUNCTION IF NOT EXISTS.",
                )
            )

    def drop(self, statement: Drop) -> None:
        name = self._own_name(statement.name)
        match statement.kind:
            case ObjectKind.FUNCTION:
                known, key = list(self._functions), statement.name.text.upper()
            case ObjectKind.TABLE:
                known, key = [table.name for table in self.tables], name
            case ObjectKind.VIEW:
                known, key = [view.name for view in self.views], name
        if key in known and statement.kind is ObjectKind.FUNCTION:
            self._functions.pop(key)
        elif key in known:
            self._drop_relation(key, statement)
        elif name in self._relations and statement.kind is not ObjectKind.FUNCTION:
            other = ObjectKind.VIEW if statement.kind is ObjectKind.TABLE else ObjectKind.TABLE
            raise ScriptError(
                Diagnostic(
                    Code.UNDEFINED_TABLE,
                    f'"{name}" is a {other.lower()}',
                    statement.name.span,
                    hint=f"Write DROP {other} {name}.",
                )
            )
        elif not statement.if_exists:
            raise ScriptError(self._undefined_object(statement.name, statement.kind.lower(), known))

    def _drop_relation(self, name: str, statement: Drop) -> None:
        if name in self._covered and not statement.is_temporary:
            raise ScriptError(
                Diagnostic(
                    Code.DUPLICATE_TABLE,
                    f'a temporary {statement.kind.lower()} hides "{name}"',
                    statement.name.span,
                    hint=f"Write DROP TEMPORARY {statement.kind} {name} first.",
                )
            )
        del self._relations[name]
        if name in self._covered:
            self._relations[name] = self._covered.pop(name)
        else:
            self._dropped[name] = statement.span

    def set_options(self, statement: AlterTableSet) -> None:
        self._replace(self.table(statement.name).with_options(statement.options))

    def reset_options(self, statement: AlterTableReset) -> tuple[Name, ...]:
        """Returns the keys that were not set, for which there is nothing to do."""
        table = self.table(statement.name)
        written = {option.key for option in table.options}
        gone = {key.text for key in statement.keys}
        self._replace(replace(table, options=tuple(option for option in table.options if option.key not in gone)))
        return tuple(key for key in statement.keys if key.text not in written)

    def rename(self, statement: AlterTableRename) -> None:
        table = self.table(statement.name)
        home = self._homes[table.name]
        is_bare = len(statement.new_name.parts) == 1
        name = home.name_of(statement.new_name.text) if is_bare else self._own_name(statement.new_name)
        if name in self._relations:
            raise ScriptError(
                Diagnostic(Code.DUPLICATE_TABLE, f'table "{name}" already exists', statement.new_name.span)
            )
        self._relations = {
            (name if known == table.name else known): (replace(table, name=name) if known == table.name else found)
            for known, found in self._relations.items()
        }
        self._homes[name] = home if is_bare else self.databases.database_of(statement.new_name)
        if table.name in self._covered:
            self._relations[table.name] = self._covered.pop(table.name)

    def table(self, name: ObjectName) -> CatalogTable:
        found = self.relation(name)
        if isinstance(found, CatalogView):
            raise ScriptError(
                Diagnostic(
                    Code.UNDEFINED_TABLE,
                    f'"{name.text}" is a view, and a table is needed here',
                    name.span,
                    detail=f"The view was created at {found.span.source.name}:{found.span.line}.",
                )
            )
        return found

    def relation(self, name: ObjectName) -> Relation:
        """The table or view of that name."""
        found = self._relations.get(self._own_name(name))
        if found is None:
            raise ScriptError(self._undefined_object(name, "table", self._relations))
        return found

    def _replace(self, table: CatalogTable) -> None:
        self._relations[table.name] = table

    def find_created(self, statement: CreateTable) -> CatalogTable:
        """The table of this statement, even if a temporary one of the same name hides it."""
        covered = self._covered.get(self._own_name(statement.name))
        if not statement.is_temporary and isinstance(covered, CatalogTable):
            return covered
        return self.table(statement.name)

    def _keep(self, relation: Relation, home: Database) -> None:
        self._homes[relation.name] = home
        first = self._relations.get(relation.name)
        if first is not None and first.is_temporary and not relation.is_temporary:
            self._covered[relation.name] = relation
            return
        if first is not None:
            self._covered[relation.name] = first
        self._relations[relation.name] = relation

    def is_there(self, statement: CreateTable) -> bool:
        """Whether IF NOT EXISTS applies; raises where the name is taken without it."""
        return self._is_taken(statement)

    def _is_taken(self, statement: CreateTable | CreateView) -> bool:
        """Temporary tables and views are separate from others: one of each can have the same name."""
        name = self._own_name(statement.name)
        known = (self._relations.get(name), self._covered.get(name))
        first = next((found for found in known if found and found.is_temporary == statement.is_temporary), None)
        if first is None or statement.if_not_exists:
            return first is not None
        kind = "table" if isinstance(first, CatalogTable) else "view"
        wanted = "table" if isinstance(statement, CreateTable) else "view"
        other = f", or write CREATE {kind.upper()} IF NOT EXISTS" if kind == wanted else f", or DROP the {kind} first"
        raise ScriptError(
            Diagnostic(
                Code.DUPLICATE_TABLE,
                f'{kind} "{statement.name.text}" already exists',
                statement.span,
                detail=f"It was created at {first.span.source.name}:{first.span.line}.",
                hint=f"Choose another name{other}.",
            )
        )

    def _own_name(self, name: ObjectName) -> str:
        """What a table, view or function of this name is called here."""
        return self.databases.database_of(name).name_of(name.text)

    def _undefined_object(self, name: ObjectName, kind: str, known: Iterable[str]) -> Diagnostic:
        names = tuple(known)
        near = nearest(name.text, names)
        gone = self._dropped.get(self._own_name(name)) if kind != "function" else None
        dropped = f"It was dropped at {gone.source.name}:{gone.line}. " if gone is not None else ""
        return Diagnostic(
            Code.UNDEFINED_FUNCTION if kind == "function" else Code.UNDEFINED_TABLE,
            f'{kind} "{name.text}" is not defined',
            name.span,
            detail=f"{dropped}{kind.capitalize()}s defined so far: {', '.join(names) or 'none'}.",
            hint=f'Did you mean "{near}"?' if near else f"Define it with CREATE {kind.upper()} before it is used.",
        )
