"""M1: the text of a script, and its parameters and settings."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

TEXT: Final = Group(
    "M1: the script's text and the command's arguments",
    "Found before anything is started.",
    {
        Code.SYNTAX: Explanation(
            "syntax error",
            cause="A word or symbol is where SQL does not allow it, or something that was opened is never closed.",
            fix="Look at the marked place and just before it: a missing comma, parenthesis or quote shows itself one "
            "word later.",
            example="syntax_in_query",
        ),
        Code.UNSUPPORTED_STATEMENT: Explanation(
            "statement or clause that is not supported yet",
            cause="The text is valid Flink SQL, and Millstream does not run this kind of statement or clause yet.",
            fix="Write the query without it. Often a view or a second job can do a part of the work.",
            example="unsupported_statement",
        ),
        Code.UNSUPPORTED_EXPRESSION: Explanation(
            "expression that is not supported yet",
            cause="A function or operator in the query is not among those that Millstream computes.",
            fix="Use a supported function in its place, or compute the value where the messages are produced.",
            example="unsupported_expression",
        ),
        Code.MISSING_PARAMETER: Explanation(
            "parameter without a value",
            cause="The script has a place for a parameter, `${name}`, and no value was given for that name.",
            fix="Give it with `--param name=value`, or with `parameters={…}` from Python.",
            example="missing_parameter",
        ),
        Code.UNREADABLE_SCRIPT: Explanation(
            "script that cannot be read",
            cause="The file does not exist, is a folder, may not be opened, or is not UTF-8 text.",
            fix="Check the path, which is taken relative to the current folder, and save the script as UTF-8.",
            example="unreadable_script",
        ),
        Code.BAD_ARGUMENT: Explanation(
            "argument that cannot be understood",
            cause="An argument of the command is not of the form that it takes.",
            fix="Write it as the hint shows; `millstream COMMAND --help` has examples.",
            example="argument_without_value",
        ),
        Code.UNDEFINED_FUNCTION: Explanation(
            "function that is not defined",
            cause="The script names a function that is neither built in nor created before that place.",
            fix="Correct the name, or create the function first.",
            example="undefined_function",
        ),
    },
)
