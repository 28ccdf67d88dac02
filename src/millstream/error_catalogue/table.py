"""M2: tables, their columns and their options."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

TABLE: Final = Group(
    "M2: tables, columns and options",
    "Found before anything is started. All problems of a script are reported at once.",
    {
        Code.UNDEFINED_TABLE: Explanation(
            "table that is not defined",
            cause="A statement names a table or view that no earlier statement of the script or session has created.",
            fix="Correct the name, or move the CREATE TABLE before its use. Names are compared with their case.",
            example="undefined_table",
        ),
        Code.DUPLICATE_TABLE: Explanation(
            "table that already exists",
            cause="A table or view of that name was created before.",
            fix="Choose another name, drop the first one, or write CREATE TABLE IF NOT EXISTS to keep it.",
            example="duplicate_table",
        ),
        Code.UNDEFINED_COLUMN: Explanation(
            "column that is not there",
            cause="The query names a column that its tables do not have, or one that GROUP BY has left behind.",
            fix="Correct the name. Beside an aggregate, add the column to GROUP BY or aggregate it too.",
            example="undefined_column",
        ),
        Code.DUPLICATE_COLUMN: Explanation(
            "column that is named twice",
            cause="Two columns of one table or one column list have the same name.",
            fix="Rename or remove one of them.",
            example="duplicate_column",
        ),
        Code.UNSUPPORTED_TYPE: Explanation(
            "type that is not supported here",
            cause="The column's type is not supported yet, or the table's format has no way to carry it.",
            fix="Declare a type that the format carries, such as STRING or BIGINT, and CAST in the query.",
            example="unsupported_type",
        ),
        Code.INVALID_PRIMARY_KEY: Explanation(
            "primary key that cannot be used",
            cause="The primary key is declared twice, names a column that the table does not have, or is not "
            "declared NOT ENFORCED.",
            fix="Write PRIMARY KEY (…) NOT ENFORCED once, over columns of the table. A topic cannot reject rows, so "
            "the key is a promise of whoever writes it.",
            example="primary_key_enforced",
        ),
        Code.INVALID_WATERMARK: Explanation(
            "watermark that cannot be used",
            cause="The WATERMARK clause names a missing column, or one that holds no time, or there are two.",
            fix="Declare it once, over a TIMESTAMP or TIMESTAMP_LTZ column.",
            example="watermark_on_text",
        ),
        Code.SINK_SCHEMA_MISMATCH: Explanation(
            "query that does not fit its sink",
            cause="The columns of the query and of the table it writes to differ in number or type.",
            fix="Columns are matched by position: add the missing ones, and CAST those of another type.",
            example="sink_schema_mismatch",
        ),
        Code.TYPE_MISMATCH: Explanation(
            "expression of the wrong type",
            cause="An operator, function or clause is given a value of a type that it does not take.",
            fix="CAST the value to a type that fits, or compare it where a condition is wanted.",
            example="type_mismatch",
        ),
        Code.MISSING_CONNECTOR: Explanation(
            "table without a connector",
            cause="The WITH clause does not say what kind of table it is.",
            fix="Add the option 'connector'.",
            example="missing_connector",
        ),
        Code.UNDEFINED_CONNECTOR: Explanation(
            "connector that does not exist",
            cause="The value of 'connector' is not the name of a connector.",
            fix="Use one of those that the hint lists.",
            example="undefined_connector",
        ),
        Code.UNDEFINED_FORMAT: Explanation(
            "format that does not exist or is not supported yet",
            cause="The value of 'format', 'key.format' or 'value.format' is not the name of a format that is there.",
            fix="Use one of those that the hint lists.",
            example="undefined_format",
        ),
        Code.MISSING_OPTION: Explanation(
            "option that is missing",
            cause="The table's connector or format needs an option that the WITH clause does not have.",
            fix="Add the option; the hint says what it means.",
            example="missing_option",
        ),
        Code.UNDEFINED_OPTION: Explanation(
            "option or setting that does not exist",
            cause="Neither the connector nor the format has an option of that name, or SET names no setting.",
            fix="Correct the name; the hint gives the nearest, the detail all there are.",
            example="undefined_option",
        ),
        Code.INVALID_OPTION_VALUE: Explanation(
            "value that an option cannot take",
            cause="The option or setting exists, and its value is not of the kind it takes.",
            fix="Use a value as the hint describes it.",
            example="invalid_option_value",
        ),
        Code.CONFLICTING_OPTIONS: Explanation(
            "options that exclude each other",
            cause="Two options, or an option and a clause of the table, cannot both apply.",
            fix="Remove one of the two.",
            example="conflicting_options",
        ),
        Code.MISSING_PRIMARY_KEY: Explanation(
            "table that needs a primary key",
            cause="The connector updates rows by key, and the table declares no primary key.",
            fix="Add PRIMARY KEY (…) NOT ENFORCED; its columns become the message key.",
            example="missing_primary_key",
        ),
        Code.NOT_A_SOURCE: Explanation(
            "table that cannot be read",
            cause="The query reads a table whose connector can only be written to.",
            fix="Declare a second table over the same data with a connector that reads.",
            example="print_as_source",
        ),
        Code.INVALID_FUNCTION: Explanation(
            "function that cannot be loaded",
            cause="CREATE FUNCTION names a module or function that cannot be imported, or one whose types are not "
            "declared.",
            fix="Put the module beside the script or install it, and annotate the function's arguments and result, or "
            "declare them with @millstream.udf or @millstream.udtf.",
            example="invalid_function",
        ),
        Code.NOT_A_SINK: Explanation(
            "table that cannot be written",
            cause="The statement writes to a table whose connector can only be read.",
            fix="Write into a table of another connector, such as print or kafka.",
            example="generated_table_as_sink",
        ),
        Code.NOT_BUILT_YET: Explanation(
            "option that cannot be run yet",
            cause="The script can be read and planned, but asks for something that a running job cannot do yet. It "
            "is refused by `check`, and by `run` before anything starts.",
            fix="Leave it out, or use what the hint names instead.",
            example="unbuilt_table",
        ),
        Code.INVALID_METADATA: Explanation(
            "metadata column that is not available",
            cause="The connector or format has no such metadata, cannot write it, or it cannot be cast to the "
            "column's type.",
            fix="Correct the key after METADATA FROM, add VIRTUAL to a column that is only read, or declare another "
            "type.",
            example="invalid_metadata",
        ),
    },
)
