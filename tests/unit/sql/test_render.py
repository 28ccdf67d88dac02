"""A statement, written and read again, is the same statement."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from millstream.source import SourceText, Span
from millstream.sql.parser import parse_script
from millstream.sql.render import render
from millstream.sql.script import Script
from millstream.sql.statements import (
    AlterTableRename,
    AlterTableReset,
    AlterTableSet,
    ComputedColumn,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateTableAs,
    CreateView,
    Describe,
    Drop,
    DropCatalog,
    DropDatabase,
    Explain,
    ExplainDetail,
    Expression,
    InsertInto,
    LikeClause,
    LikeFeature,
    LikeOption,
    LikeStrategy,
    MetadataColumn,
    Name,
    ObjectKind,
    ObjectName,
    OptionEntry,
    PhysicalColumn,
    PrimaryKeyDeclaration,
    Query,
    ResetOption,
    Select,
    SetOption,
    Show,
    ShowKind,
    Statement,
    StatementSet,
    Use,
    WatermarkDeclaration,
)
from millstream.sql.types import DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = SourceText("s", "x").span(0, 1)


def read(text: str) -> Any:
    parsed = parse_script(Script(SourceText("s", text), text))
    assert parsed.problems == ()
    [statement] = parsed.statements
    return statement


def meaning(value: Any) -> Any:
    """The statement without its places; a hint's offset stands for the table it points at."""
    if isinstance(value, Query):
        return value.tree, [(value.script.text[offset:][:1], meaning(options)) for offset, options in value.hints]
    if is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, Field):
            return value.name, meaning(value.type), value.comment
        parts = [(part.name, getattr(value, part.name)) for part in fields(value)]
        return type(value), [(name, meaning(part)) for name, part in parts if not isinstance(part, Span | Script)]
    if isinstance(value, tuple):
        return [meaning(item) for item in value]
    return value


def query(text: str) -> Query:
    statement = read(text)
    assert isinstance(statement, Select)
    return statement.query


def expression(text: str) -> Expression:
    [column] = read(f"CREATE TABLE t (c AS {text})").columns
    assert isinstance(column, ComputedColumn)
    return column.expression


EXPRESSIONS = [
    expression(text)
    for text in ("a", "ts - INTERVAL '5' SECOND", "f(a, 'it''s', `b``c`)", "CASE WHEN a > 1 THEN (b) ELSE NULL END")
]
QUERIES = [
    query(text)
    for text in (
        "SELECT 1",
        "VALUES (1, 'a;b'), (2, NULL)",
        "SELECT a, -- a remark\n  b FROM t WHERE c = '/*' GROUP BY a, b",
        "(SELECT 1) UNION ALL SELECT 2",
        "WITH x AS (SELECT * FROM y /*+ OPTIONS('a''b' = '*/') */) SELECT * FROM x, z /*+ OPTIONS('c' = 'd') */",
    )
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["it's", "`", "--", "/*+", ";"]
)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(["select", "a`b"])
flags = st.booleans()
names = st.builds(Name, words, st.just(HERE))
paths = st.builds(ObjectName, st.lists(words, min_size=1, max_size=3).map(tuple), st.just(HERE))
entries = st.builds(OptionEntry, texts, texts, st.just(HERE), st.just(HERE))
expressions = st.sampled_from(EXPRESSIONS)
queries = st.sampled_from(QUERIES)
comments = st.none() | texts
fraction_digits = st.none() | st.integers(0, 9)


def some(strategy: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


def types_of(roots: Sequence[TypeRoot], precision: st.SearchStrategy[int | None]) -> st.SearchStrategy[DataType]:
    return st.builds(DataType, st.sampled_from(roots), flags, precision)


plain_types = st.one_of(
    types_of(
        [TypeRoot.BOOLEAN, TypeRoot.INT, TypeRoot.DOUBLE, TypeRoot.STRING, TypeRoot.BYTES, TypeRoot.DATE], st.none()
    ),
    types_of([TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.BINARY, TypeRoot.VARBINARY], st.integers(1, 2**31 - 1)),
    types_of([TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ, TypeRoot.INTERVAL_DAY_TIME], fraction_digits),
    types_of([TypeRoot.TIME], st.integers(0, 9)),
    types_of([TypeRoot.INTERVAL_YEAR_MONTH], st.none()),
    st.builds(DataType, st.just(TypeRoot.DECIMAL), flags, st.integers(9, 38), st.integers(0, 9)),
)
types = st.recursive(
    plain_types,
    lambda inner: st.one_of(
        st.builds(DataType, st.sampled_from([TypeRoot.ARRAY, TypeRoot.MULTISET]), flags, element=inner),
        st.builds(DataType, st.just(TypeRoot.MAP), flags, key=inner, element=inner),
        st.builds(DataType, st.just(TypeRoot.ROW), flags, fields=some(st.builds(Field, words, inner, comments), 1)),
    ),
    max_leaves=6,
)
columns = st.one_of(
    st.builds(PhysicalColumn, words, types, st.just(HERE), comments),
    st.builds(MetadataColumn, words, types, st.just(HERE), texts, flags, comments),
    st.builds(ComputedColumn, words, expressions, st.just(HERE), comments),
)
like_options = st.builds(LikeOption, st.sampled_from(LikeStrategy), st.sampled_from(LikeFeature), st.just(HERE)).filter(
    lambda option: option.strategy != LikeStrategy.OVERWRITING or option.feature == LikeFeature.OPTIONS
)
likes = st.builds(
    LikeClause, paths, st.lists(like_options, unique_by=lambda option: option.feature, max_size=3).map(tuple)
)
inserts = st.builds(InsertInto, paths, queries, st.just(HERE), some(names), some(entries))
sets = st.builds(StatementSet, some(inserts, 1), st.just(HERE))
selects = st.builds(Select, queries, st.just(HERE))


def tables(columns: st.SearchStrategy[Any], **rest: st.SearchStrategy[Any]) -> st.SearchStrategy[CreateTable]:
    return st.builds(
        CreateTable,
        name=paths,
        columns=columns,
        options=some(entries),
        span=st.just(HERE),
        primary_key=st.none() | st.builds(PrimaryKeyDeclaration, some(words, 1), st.just(HERE), st.none() | words),
        watermark=st.none() | st.builds(WatermarkDeclaration, words, expressions, st.just(HERE)),
        comment=comments,
        partitioned_by=some(names),
        if_not_exists=flags,
        **rest,
    )


STATEMENTS: dict[type, st.SearchStrategy[Any]] = {
    CreateTable: tables(some(columns, 1, 4), like=st.none() | likes, is_temporary=flags),
    CreateTableAs: st.one_of(
        st.builds(CreateTableAs, tables(some(columns)), queries),
        st.builds(CreateTableAs, tables(st.just(())), queries, some(names, 1)),
    ),
    CreateCatalog: st.builds(CreateCatalog, names, some(entries), st.just(HERE), comments, flags),
    DropCatalog: st.builds(DropCatalog, names, st.just(HERE), flags),
    CreateDatabase: st.builds(CreateDatabase, paths, some(entries), st.just(HERE), comments, flags),
    DropDatabase: st.builds(DropDatabase, paths, st.just(HERE), flags, flags),
    CreateView: st.builds(CreateView, paths, some(names), queries, st.just(HERE), comments, flags, flags),
    CreateFunction: st.sampled_from([(False, False), (True, False), (True, True)]).flatmap(
        lambda marks: st.builds(
            CreateFunction, paths, st.builds(Name, texts, st.just(HERE)), st.just("PYTHON"), st.just(HERE), flags,
            *map(st.just, marks),
        )
    ),
    Drop: st.builds(Drop, st.sampled_from(ObjectKind), paths, st.just(HERE), flags, flags),
    AlterTableSet: st.builds(AlterTableSet, paths, some(entries, 1), st.just(HERE)),
    AlterTableReset: st.builds(AlterTableReset, paths, some(st.builds(Name, texts, st.just(HERE)), 1), st.just(HERE)),
    AlterTableRename: st.builds(AlterTableRename, paths, paths, st.just(HERE)),
    InsertInto: inserts,
    StatementSet: sets,
    Select: selects,
    SetOption: st.builds(SetOption, texts, texts, st.just(HERE)),
    ResetOption: st.builds(ResetOption, st.none() | texts, st.just(HERE)),
    Use: st.builds(Use, paths, flags, st.just(HERE)),
    Explain: st.builds(Explain, inserts | sets | selects, st.just(HERE), some(st.sampled_from(ExplainDetail))),
    Describe: st.builds(Describe, paths, st.just(HERE)),
    Show: st.one_of(
        st.builds(Show, st.sampled_from([ShowKind.JOBS, ShowKind.SETTINGS]), st.just(HERE)),
        st.builds(Show, st.sampled_from([ShowKind.CREATE_TABLE, ShowKind.CREATE_VIEW]), st.just(HERE), paths),
        st.builds(Show, st.sampled_from([ShowKind.CURRENT_CATALOG, ShowKind.CURRENT_DATABASE]), st.just(HERE)),
        st.builds(
            Show, st.sampled_from([ShowKind.FUNCTIONS, ShowKind.CATALOGS]), st.just(HERE), st.none(), texts, flags,
        ),
        st.builds(
            Show, st.sampled_from([ShowKind.TABLES, ShowKind.VIEWS, ShowKind.DATABASES]), st.just(HERE), st.none(),
            texts, flags, st.none() | paths,
        ),
    ),
}  # fmt: skip


def test_no_kind_of_statement_is_left_out() -> None:
    assert set(STATEMENTS) == set(get_args(Statement))


@given(st.one_of(*STATEMENTS.values()))
def test_what_is_written_is_read_again(statement: Statement) -> None:
    assert meaning(read(render(statement))) == meaning(statement)
