"""`csv`: one line per message, its columns by position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from millstream.catalog.options import ConfigOption, Role, boolean
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.errors import Code
from millstream.formats.csv_types import not_in_csv
from millstream.formats.declaration import DeclaredUse, FormatDeclaration

_JAVA_ESCAPE: Final = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.))", re.DOTALL)
_CONTROLS: Final = {"b": "\b", "n": "\n", "t": "\t", "f": "\f", "r": "\r"}


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """`quote` is None if quotes are disabled."""

    delimiter: str = ","
    quote: str | None = '"'
    allow_comments: bool = False
    ignore_parse_errors: bool = False
    element_delimiter: str = ";"
    escape: str | None = None
    null_literal: str | None = None
    scientific_decimals: bool = False
    trim_spaces: bool = False
    ignore_trailing_unmappable: bool = False
    allow_trailing_comma: bool = True
    fail_on_missing_columns: bool = False
    empty_string_as_null: bool = False


@dataclass(frozen=True, slots=True)
class CsvFormat:
    options: CsvOptions = CsvOptions()
    name: str = "csv"
    changelog: ChangelogMode = INSERT_ONLY


def character(value: str) -> str:
    if len(value) != 1 or ord(value) > 0xFFFF:  # noqa: PLR2004
        raise ValueError(f'"{value}" is not a single character')
    return value


def unescape_character(value: str) -> str:
    r"""A character in Java's syntax: `\t` or `\u0001`."""
    return character(_JAVA_ESCAPE.sub(_unescape, value))


def _unescape(match: re.Match[str]) -> str:
    code, octal, other = match.groups()
    if other is not None:
        return _CONTROLS.get(other, other)
    return chr(int(code, 16) if code else int(octal, 8))


FIELD_DELIMITER: Final = ConfigOption(
    "field-delimiter", unescape_character, r"The character between two fields, e.g. ';' or '\t'.", ","
)
DISABLE_QUOTE_CHARACTER: Final = ConfigOption(
    "disable-quote-character", boolean, "Whether quotes are ordinary characters.", False
)
QUOTE_CHARACTER: Final = ConfigOption("quote-character", character, "The character around a quoted field.", '"')
ALLOW_COMMENTS: Final = ConfigOption(
    "allow-comments", boolean, "Whether a line that starts with # is ignored.", False, Role.SOURCE
)
IGNORE_PARSE_ERRORS: Final = ConfigOption(
    "ignore-parse-errors",
    boolean,
    "Whether fields and messages that cannot be read become NULL or are skipped.",
    False,
    Role.SOURCE,
)
ARRAY_ELEMENT_DELIMITER: Final = ConfigOption(
    "array-element-delimiter", character, "The character between the elements of an ARRAY or the fields of a ROW.", ";"
)
ESCAPE_CHARACTER: Final = ConfigOption(
    "escape-character", character, "The character that makes the next one an ordinary character."
)
NULL_LITERAL: Final = ConfigOption("null-literal", str, r"The text that stands for NULL, e.g. 'null' or '\N'.")
SCIENTIFIC_DECIMALS: Final = ConfigOption(
    "write-bigdecimal-in-scientific-notation",
    boolean,
    "Whether decimals lose their trailing zeros and may have an exponent (1E+5).",
    False,
    Role.SINK,
)
TRIM_SPACES: Final = ConfigOption(
    "trim-spaces", boolean, "Whether spaces around a field are removed.", False, Role.SOURCE
)
IGNORE_TRAILING_UNMAPPABLE: Final = ConfigOption(
    "ignore-trailing-unmappable", boolean, "Whether fields beyond the last column are ignored.", False, Role.SOURCE
)
ALLOW_TRAILING_COMMA: Final = ConfigOption(
    "allow-trailing-comma", boolean, "Whether one delimiter may follow the last field.", True, Role.SOURCE
)
FAIL_ON_MISSING_COLUMNS: Final = ConfigOption(
    "fail-on-missing-columns",
    boolean,
    "Whether a line with fewer fields than columns is an error even where errors are otherwise fields of NULL.",
    False,
    Role.SOURCE,
)
EMPTY_STRING_AS_NULL: Final = ConfigOption(
    "empty-string-as-null", boolean, "Whether an empty field is NULL.", False, Role.SOURCE
)


def _one_way_to_quote(use: DeclaredUse) -> None:
    if use.values[DISABLE_QUOTE_CHARACTER.key] and use.has(QUOTE_CHARACTER):
        use.report(
            Code.CONFLICTING_OPTIONS,
            "a quote character cannot be both given and disabled",
            QUOTE_CHARACTER,
            hint=f"Remove '{use.under}{QUOTE_CHARACTER.key}' or '{use.under}{DISABLE_QUOTE_CHARACTER.key}'.",
        )


def _csv(values: dict[str, Any]) -> CsvFormat:
    return CsvFormat(
        CsvOptions(
            delimiter=values[FIELD_DELIMITER.key],
            quote=None if values[DISABLE_QUOTE_CHARACTER.key] else values[QUOTE_CHARACTER.key],
            allow_comments=values[ALLOW_COMMENTS.key],
            ignore_parse_errors=values[IGNORE_PARSE_ERRORS.key],
            element_delimiter=values[ARRAY_ELEMENT_DELIMITER.key],
            escape=values[ESCAPE_CHARACTER.key],
            null_literal=values[NULL_LITERAL.key],
            scientific_decimals=values[SCIENTIFIC_DECIMALS.key],
            trim_spaces=values[TRIM_SPACES.key],
            ignore_trailing_unmappable=values[IGNORE_TRAILING_UNMAPPABLE.key],
            allow_trailing_comma=values[ALLOW_TRAILING_COMMA.key],
            fail_on_missing_columns=values[FAIL_ON_MISSING_COLUMNS.key],
            empty_string_as_null=values[EMPTY_STRING_AS_NULL.key],
        )
    )


CSV: Final = FormatDeclaration(
    "csv",
    "One line of separated fields per message, its columns by position.",
    _csv,
    (
        FIELD_DELIMITER, DISABLE_QUOTE_CHARACTER, QUOTE_CHARACTER, ALLOW_COMMENTS, IGNORE_PARSE_ERRORS,
        ARRAY_ELEMENT_DELIMITER, ESCAPE_CHARACTER, NULL_LITERAL, SCIENTIFIC_DECIMALS, TRIM_SPACES,
        IGNORE_TRAILING_UNMAPPABLE, ALLOW_TRAILING_COMMA, FAIL_ON_MISSING_COLUMNS, EMPTY_STRING_AS_NULL,
    ),
    refuses=not_in_csv,
    rules=(_one_way_to_quote,),
)  # fmt: skip
