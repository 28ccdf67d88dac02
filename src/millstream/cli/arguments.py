"""Arguments of commands: the script's file, and KEY=VALUE pairs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Iterable


def checkpoint_of(script: Path, named: str | None) -> str | Path:
    """Where the jobs of a script keep their state, unless --checkpoint names another folder."""
    return named or Path(".millstream") / script.stem


def read_script(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        why, hint = "no such file", "Check the path; it is taken relative to the current folder."
    except IsADirectoryError:
        why, hint = "it is a folder", "Name the script itself."
    except UnicodeDecodeError:
        why, hint = "it is not UTF-8 text", "Save the script as UTF-8."
    except OSError as error:
        why, hint = error.strerror or str(error), None
    raise ScriptError(Diagnostic(Code.UNREADABLE_SCRIPT, f"script {script} cannot be read: {why}", hint=hint))


def parameters_of(arguments: Iterable[str]) -> dict[str, str]:
    """A parameter without a value is read from the environment, which other users cannot see, unlike command lines."""
    return pairs((_with_value(argument) for argument in arguments), "--param")


def pairs(arguments: Iterable[str], option: str) -> dict[str, str]:
    return dict(_pair(argument, option) for argument in arguments)


def _with_value(argument: str) -> str:
    if "=" in argument or not argument.strip():
        return argument
    value = os.environ.get(argument)
    if value is None:
        raise ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                f'--param "{argument}" has no value, and the environment has no variable of that name',
                hint=f"Write --param {argument}=VALUE, or set the variable.",
            )
        )
    return f"{argument}={value}"


def _pair(argument: str, option: str) -> tuple[str, str]:
    key, equals, value = argument.partition("=")
    if not equals or not key.strip():
        raise ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                f'{option} "{argument}" is not of the form KEY=VALUE',
                hint=f"Write {option} name=value.",
            )
        )
    return key.strip(), value
