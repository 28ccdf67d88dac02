"""Catalogs with their databases, all of them in memory, and which of them a name without both means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.source import Span
    from millstream.sql.statements import CreateCatalog, CreateDatabase, DropCatalog, DropDatabase, ObjectName, Use

DEFAULT_CATALOG: Final = "default_catalog"
DEFAULT_DATABASE: Final = "default_database"
IN_MEMORY: Final = "generic_in_memory"
_TYPE: Final = "type"
_FIRST_DATABASE: Final = "default-database"
_FIRST_OF_OTHERS: Final = "default"
"""The database that a catalog has when it is created, unless its options say another."""


@dataclass(frozen=True, slots=True)
class Database:
    catalog: str
    name: str

    def name_of(self, table: str) -> str:
        """What a table of it is called everywhere: with the parts that are not the default ones."""
        if self.catalog != DEFAULT_CATALOG:
            return f"{self.catalog}.{self.name}.{table}"
        return table if self.name == DEFAULT_DATABASE else f"{self.name}.{table}"

    def path_of(self, known: str) -> tuple[str, ...]:
        """The parts of such a name."""
        table = known.removeprefix(self.name_of(""))
        if self.catalog != DEFAULT_CATALOG:
            return (self.catalog, self.name, table)
        return (table,) if self.name == DEFAULT_DATABASE else (self.name, table)

    def __str__(self) -> str:
        return f"{self.catalog}.{self.name}"


class Databases:
    def __init__(self) -> None:
        self._databases: dict[str, tuple[str, ...]] = {DEFAULT_CATALOG: (DEFAULT_DATABASE,)}
        self._first = {DEFAULT_CATALOG: DEFAULT_DATABASE}
        """The database of each catalog that is used with it."""
        self.current = Database(DEFAULT_CATALOG, DEFAULT_DATABASE)

    def copy(self) -> Databases:
        twin = Databases()
        twin._databases = dict(self._databases)
        twin._first = dict(self._first)
        twin.current = self.current
        return twin

    @property
    def catalogs(self) -> tuple[str, ...]:
        return tuple(self._databases)

    def names_in(self, catalog: str | None, place: Span) -> tuple[str, ...]:
        """The databases of a catalog, or of the one in use."""
        return self._databases[self._known_catalog(catalog or self.current.catalog, place)]

    def database_of(self, name: ObjectName) -> Database:
        """The database of a table, by the name of the table."""
        match name.parts:
            case (catalog, database, _):
                return self._known(catalog, database, name.span)
            case (database, _):
                return self._known(self.current.catalog, database, name.span)
            case _:
                return self.current

    def find(self, name: ObjectName) -> Database:
        """`database` or `catalog.database`."""
        self._require_parts(name)
        catalog = name.parts[0] if len(name.parts) > 1 else self.current.catalog
        return self._known(catalog, name.text, name.span)

    def create_catalog(self, statement: CreateCatalog) -> None:
        options = {option.key: option for option in statement.options}
        type_ = options.get(_TYPE)
        if type_ is None or type_.value != IN_MEMORY:
            raise ScriptError(_other_catalog(type_.value if type_ is not None else "", statement.span))
        unknown = [option for option in statement.options if option.key not in (_TYPE, _FIRST_DATABASE)]
        if unknown:
            why = f"option '{unknown[0].key}' is not known for catalogs"
            hint = f"A catalog in memory has '{_TYPE}' and '{_FIRST_DATABASE}'."
            raise ScriptError(Diagnostic(Code.UNDEFINED_OPTION, why, unknown[0].key_span, hint=hint))
        name = statement.name.text
        if name in self._databases:
            if not statement.if_not_exists:
                raise ScriptError(_exists("catalog", name, statement.name.span))
            return
        first = options[_FIRST_DATABASE].value if _FIRST_DATABASE in options else _FIRST_OF_OTHERS
        self._databases[name] = (first,)
        self._first[name] = first

    def drop_catalog(self, statement: DropCatalog) -> tuple[Database, ...]:
        """Returns the databases that have gone with it."""
        name = statement.name.text
        if name not in self._databases and statement.if_exists:
            return ()
        self._known_catalog(name, statement.name.span)
        if name == self.current.catalog:
            raise ScriptError(_in_use("catalog", name, statement.name.span, "USE CATALOG"))
        del self._first[name]
        return tuple(Database(name, database) for database in self._databases.pop(name))

    def create_database(self, statement: CreateDatabase) -> None:
        self._require_parts(statement.name)
        catalog = statement.name.parts[0] if len(statement.name.parts) > 1 else self.current.catalog
        known = self.names_in(catalog, statement.name.span)
        if statement.name.text not in known:
            self._databases[catalog] = (*known, statement.name.text)
        elif not statement.if_not_exists:
            raise ScriptError(_exists("database", statement.name.text, statement.name.span))

    def drop_database(self, statement: DropDatabase) -> Database | None:
        """The database that is dropped; None if there is none of that name and need not be."""
        try:
            found = self.find(statement.name)
        except ScriptError:
            if statement.if_exists:
                return None
            raise
        if found == self.current:
            raise ScriptError(_in_use("database", str(found), statement.name.span, "USE"))
        known = self._databases[found.catalog]
        self._databases[found.catalog] = tuple(name for name in known if name != found.name)
        return found

    def use(self, statement: Use) -> None:
        if not statement.is_catalog:
            self.current = self.find(statement.name)
            return
        if len(statement.name.parts) > 1:
            raise ScriptError(_too_many_parts(statement.name, "the name of a catalog has one part"))
        catalog = self._known_catalog(statement.name.text, statement.name.span)
        self.current = Database(catalog, self._first[catalog])

    def _known(self, catalog: str, database: str, place: Span) -> Database:
        if database not in self._databases[self._known_catalog(catalog, place)]:
            raise ScriptError(_undefined("database", database, self._databases[catalog], place))
        return Database(catalog, database)

    def _known_catalog(self, name: str, place: Span) -> str:
        if name not in self._databases:
            raise ScriptError(_undefined("catalog", name, self._databases, place))
        return name

    @staticmethod
    def _require_parts(name: ObjectName) -> None:
        if len(name.parts) > len(("catalog", "database")):
            raise ScriptError(_too_many_parts(name, "the name of a database has one or two parts"))


def _other_catalog(type_: str, place: Span) -> Diagnostic:
    what = f"a catalog of type '{type_}' is not supported" if type_ else "a catalog needs option 'type'"
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT if type_ else Code.MISSING_OPTION,
        what,
        place,
        detail="Tables are defined by the script and last as long as it." if type_ else None,
        hint=f"Write 'type' = '{IN_MEMORY}', and CREATE TABLE for each table with its connector.",
    )


def _undefined(kind: str, name: str, known: Iterable[str], place: Span) -> Diagnostic:
    names = tuple(known)
    near = nearest(name, names)
    return Diagnostic(
        Code.UNDEFINED_TABLE,
        f'there is no {kind} "{name}"',
        place,
        detail=f"{kind.capitalize()}s: {', '.join(names) or 'none'}.",
        hint=f'Did you mean "{near}"?' if near else f"Create it with CREATE {kind.upper()} before it is used.",
    )


def _exists(kind: str, name: str, place: Span) -> Diagnostic:
    hint = f"Choose another name, or write CREATE {kind.upper()} IF NOT EXISTS."
    return Diagnostic(Code.DUPLICATE_TABLE, f'{kind} "{name}" already exists', place, hint=hint)


def _in_use(kind: str, name: str, place: Span, words: str) -> Diagnostic:
    why = f'{kind} "{name}" is in use and cannot be dropped'
    return Diagnostic(Code.UNSUPPORTED_STATEMENT, why, place, hint=f"Use another one first: {words} ….")


def _too_many_parts(name: ObjectName, why: str) -> Diagnostic:
    return Diagnostic(Code.UNDEFINED_TABLE, f'"{".".join(name.parts)}" names nothing: {why}', name.span)
