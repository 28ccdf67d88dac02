"""Types as columns declare them."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from millstream.source import SourceText
from millstream.sql.parser import parse_script
from millstream.sql.render import render_type
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable, PhysicalColumn
from millstream.sql.types import DataType, Field, TypeRoot

INT = DataType(TypeRoot.INT)
STRING = DataType(TypeRoot.STRING)


def column_type(declared: str) -> DataType:
    parsed = parse_script(expand(SourceText("s", f"CREATE TABLE t (c {declared})"), {}))
    assert parsed.problems == ()
    [statement] = parsed.statements
    assert isinstance(statement, CreateTable)
    [column] = statement.columns
    assert isinstance(column, PhysicalColumn)
    return column.type


@pytest.mark.parametrize(
    ("declared", "type_"),
    [
        ("BIGINT", DataType(TypeRoot.BIGINT)),
        ("integer not null", DataType(TypeRoot.INT, nullable=False)),
        ("INT NULL", INT),
        ("DOUBLE PRECISION", DataType(TypeRoot.DOUBLE)),
        ("DECIMAL", DataType(TypeRoot.DECIMAL, precision=10, scale=0)),
        ("NUMERIC(5)", DataType(TypeRoot.DECIMAL, precision=5, scale=0)),
        ("DEC(38, 18)", DataType(TypeRoot.DECIMAL, precision=38, scale=18)),
        ("CHAR", DataType(TypeRoot.CHAR, precision=1)),
        ("CHARACTER(3)", DataType(TypeRoot.CHAR, precision=3)),
        ("CHARACTER VARYING(3)", DataType(TypeRoot.VARCHAR, precision=3)),
        ("character varying", DataType(TypeRoot.STRING)),
        ("VARCHAR(20)", DataType(TypeRoot.VARCHAR, precision=20)),
        ("VARCHAR(2147483647)", DataType(TypeRoot.VARCHAR, precision=2147483647)),
        ("BINARY(16)", DataType(TypeRoot.BINARY, precision=16)),
        ("VARBINARY(3)", DataType(TypeRoot.VARBINARY, precision=3)),
        ("BYTES", DataType(TypeRoot.BYTES)),
        ("DATE", DataType(TypeRoot.DATE)),
        ("TIME", DataType(TypeRoot.TIME, precision=0)),
        ("TIME(3) WITHOUT TIME ZONE", DataType(TypeRoot.TIME, precision=3)),
        ("TIMESTAMP", DataType(TypeRoot.TIMESTAMP)),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", DataType(TypeRoot.TIMESTAMP, precision=3)),
        ("TIMESTAMP_LTZ(0)", DataType(TypeRoot.TIMESTAMP_LTZ, precision=0)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)),
        ("INTERVAL YEAR", DataType(TypeRoot.INTERVAL_YEAR_MONTH)),
        ("INTERVAL YEAR(4) TO MONTH", DataType(TypeRoot.INTERVAL_YEAR_MONTH)),
        ("INTERVAL DAY(3) TO SECOND(6)", DataType(TypeRoot.INTERVAL_DAY_TIME, precision=6)),
        ("INTERVAL SECOND(3)", DataType(TypeRoot.INTERVAL_DAY_TIME, precision=3)),
        ("INTERVAL HOUR TO MINUTE", DataType(TypeRoot.INTERVAL_DAY_TIME)),
        ("ARRAY<STRING NOT NULL> NOT NULL", DataType(TypeRoot.ARRAY, False, element=STRING.not_null())),
        ("INT ARRAY", DataType(TypeRoot.ARRAY, element=INT)),
        (
            "INT NOT NULL ARRAY MULTISET NOT NULL",
            DataType(TypeRoot.MULTISET, False, element=DataType(TypeRoot.ARRAY, element=INT.not_null())),
        ),
        ("MULTISET<INT>", DataType(TypeRoot.MULTISET, element=INT)),
        (
            "MAP<STRING, ARRAY<INT>>",
            DataType(TypeRoot.MAP, key=STRING, element=DataType(TypeRoot.ARRAY, element=INT)),
        ),
        (
            "ROW<a INT 'the first', `b c` ROW(d STRING NOT NULL)>",
            DataType(
                TypeRoot.ROW,
                fields=(Field("a", INT), Field("b c", DataType(TypeRoot.ROW, fields=(Field("d", STRING.not_null()),)))),
            ),
        ),
    ],
)
def test_types(declared: str, type_: DataType) -> None:
    assert column_type(declared) == type_
    assert column_type(render_type(type_)) == type_


def test_the_comment_of_a_field_is_kept() -> None:
    [field] = column_type("ROW<a INT 'the first'>").fields
    assert field.comment == "the first"


@pytest.mark.parametrize(
    ("declared", "code", "column", "hint"),
    [
        ("BIGNIT", Code.SYNTAX, 19, "Did you mean BIGINT?"),
        ("RAW('a', 'b')", Code.UNSUPPORTED_TYPE, 19, "Use BYTES instead."),
        ("STRUCTURED<'a'>", Code.UNSUPPORTED_TYPE, 19, "Use ROW<…> instead."),
        ("VARIANT", Code.UNSUPPORTED_TYPE, 19, "Use STRING instead."),
        ("TIMESTAMP(3) WITH TIME ZONE", Code.UNSUPPORTED_TYPE, 32, "Use TIMESTAMP_LTZ."),
        ("DECIMAL(39, 2)", Code.SYNTAX, 27, None),
        ("DECIMAL(5, 6)", Code.SYNTAX, 27, None),
        ("TIMESTAMP(10)", Code.SYNTAX, 29, None),
        ("VARCHAR(0)", Code.SYNTAX, 27, None),
        ("VARCHAR(99999999999999999999)", Code.SYNTAX, 27, None),
        ("INTERVAL YEAR TO SECOND", Code.SYNTAX, 36, None),
        ("INTERVAL", Code.SYNTAX, 27, None),
        ("MAP<STRING>", Code.SYNTAX, 29, None),
        ("ARRAY", Code.SYNTAX, 24, None),
        ("ROW<a>", Code.SYNTAX, 24, None),
        ("DECIMAL(10", Code.SYNTAX, 29, None),
        ("`INT`", Code.SYNTAX, 19, None),
    ],
)
def test_refused_types(declared: str, code: Code, column: int, hint: str | None) -> None:
    [problem] = parse_script(expand(SourceText("s", f"CREATE TABLE t (c {declared})"), {})).problems
    assert problem.span is not None
    assert (problem.code, problem.span.column) == (code, column)
    if hint is not None:
        assert problem.hint == hint
