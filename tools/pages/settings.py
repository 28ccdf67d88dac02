"""The reference of settings."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from millstream.catalog.settings import FIXED_IN_SPARK, SETTINGS
from millstream.catalog.settings_of_flink import LATER
from millstream.catalog.settings_without_effect import WITHOUT_EFFECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.options import ConfigOption

_INTRODUCTION = """# Settings

The settings of `SET 'key' = 'value'`, `--set KEY=VALUE` and `Session(settings={…})`. A setting applies to the jobs
after it; `--set` takes precedence over a SET in the script. `spark.*` is passed to Spark unchanged; like
`pipeline.name` and `parallelism.default`, it takes effect when Spark starts, so it must be set before the first job.

| setting | default | type | meaning |
|---|---|---|---|"""
_LATER = """
## With one value so far

Flink's settings that change results, and of which only this value is supported. Other values are refused (M2021).

| setting | value | meaning |
|---|---|---|"""
_WITHOUT_EFFECT = """
## Without effect

Flink's settings that have no effect here; a notice gives the reason when the script is run or checked. A setting that
would change results is never ignored in this way. `*` matches any ending; the first row that matches applies.

| setting | why |
|---|---|"""


def settings_page() -> str:
    return "\n".join((_INTRODUCTION, *_list_working(), _LATER, *_later(), _WITHOUT_EFFECT, *_list_without_effect(), ""))


def _list_working() -> Iterator[str]:
    elsewhere = {later.option.key for later in LATER}
    for option in SETTINGS.values():
        if option.key not in elsewhere:
            default = f"`{_format_default(option.default)}`" if option.default is not None else ""
            yield f"| `{option.key}` | {default} | {option.type.name} | {_meaning(option)} |"
    fixed = ", ".join(f"`{key}`" for key in FIXED_IN_SPARK)
    yield f"| `spark.*` |  | STRING | One of Spark's own; {fixed} cannot be changed. |"


def _later() -> Iterator[str]:
    for later in LATER:
        value = f"`{later.so_far[0]}`" if later.so_far[0] else "none"
        yield f"| `{later.option.key}` | {value} | {_meaning(later.option)} |"


def _list_without_effect() -> Iterator[str]:
    for because in dict.fromkeys(setting.because for setting in WITHOUT_EFFECT):
        keys = ", ".join(f"`{setting.key}`" for setting in WITHOUT_EFFECT if setting.because == because)
        yield f"| {keys} | {_sentence(because)} |"


def _meaning(option: ConfigOption[Any]) -> str:
    values = "".join(f"<br>`{value}`: {meaning}" for value, meaning in option.type.values if meaning)
    return f"{option.doc}{values}".replace("|", "\\|")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _format_default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return f"{value // timedelta(seconds=1)} s" if value else "0"
    return str(value)
