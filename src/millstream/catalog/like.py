"""CREATE TABLE … LIKE: what a new table inherits from another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.statements import (
    ComputedColumn,
    LikeFeature,
    LikeStrategy,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKeyDeclaration,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.table import CatalogTable
    from millstream.source import Span
    from millstream.sql.statements import Column, CreateTable, LikeOption, OptionEntry, WatermarkDeclaration

_CAN_OVERWRITE: Final = frozenset(
    {LikeFeature.GENERATED, LikeFeature.METADATA, LikeFeature.OPTIONS, LikeFeature.WATERMARKS}
)


def merge_like(statement: CreateTable, base: CatalogTable) -> CreateTable:
    """The statement with everything it inherits written out. Raises all contradictions at once."""
    assert statement.like is not None
    merge = _Merge(statement, base, statement.like.options)
    whole = replace(
        statement,
        columns=merge.columns(),
        options=merge.options(),
        primary_key=merge.primary_key(),
        watermark=merge.watermark(),
        partitioned_by=statement.partitioned_by,
        like=None,
    )
    if merge.problems:
        raise ScriptError(merge.problems)
    return whole


class _Merge:
    def __init__(self, statement: CreateTable, base: CatalogTable, written: tuple[LikeOption, ...]) -> None:
        self._statement = statement
        self._base = base
        self.problems = list(_wrong_options(written))
        chosen = {option.feature: option.strategy for option in written}
        of_all = chosen.get(LikeFeature.ALL)
        default = dict.fromkeys(LikeFeature, of_all or LikeStrategy.INCLUDING)
        if of_all is None:
            default[LikeFeature.OPTIONS] = LikeStrategy.OVERWRITING
        self._strategies = {**default, **chosen}

    def columns(self) -> tuple[Column, ...]:
        """Physical columns of the base are always included, and come first."""
        own = {column.name: column for column in self._statement.columns}
        taken: list[Column] = []
        for column in self._base.columns:
            strategy = self._strategy_of(column)
            if strategy is LikeStrategy.EXCLUDING:
                continue
            if column.name not in own:
                taken.append(column)
            elif strategy is LikeStrategy.INCLUDING or isinstance(own[column.name], PhysicalColumn):
                self._refuse(f'column "{column.name}"', own[column.name].span, Code.DUPLICATE_COLUMN)
        return (*taken, *self._statement.columns)

    def options(self) -> tuple[OptionEntry, ...]:
        own = {option.key: option for option in self._statement.options}
        strategy = self._strategy(LikeFeature.OPTIONS)
        if strategy is LikeStrategy.EXCLUDING:
            return self._statement.options
        if strategy is LikeStrategy.INCLUDING:
            for option in self._base.options:
                if option.key in own:
                    self._refuse(f"option '{option.key}'", own[option.key].key_span, Code.CONFLICTING_OPTIONS)
        kept = tuple(option for option in self._base.options if option.key not in own)
        return (*kept, *self._statement.options)

    def primary_key(self) -> PrimaryKeyDeclaration | None:
        own = self._statement.primary_key
        if self._strategy(LikeFeature.CONSTRAINTS) is LikeStrategy.EXCLUDING or not self._base.primary_key:
            return own
        if own is not None:
            self._refuse("the primary key", own.span, Code.INVALID_PRIMARY_KEY)
        return PrimaryKeyDeclaration(self._base.primary_key, self._statement.span)

    def watermark(self) -> WatermarkDeclaration | None:
        own, base = self._statement.watermark, self._base.watermark
        strategy = self._strategy(LikeFeature.WATERMARKS)
        if strategy is LikeStrategy.EXCLUDING or base is None:
            return own
        if own is not None and strategy is LikeStrategy.INCLUDING:
            self._refuse("the watermark", own.span, Code.INVALID_WATERMARK)
        return own or base

    def _strategy_of(self, column: Column) -> LikeStrategy:
        match column:
            case PhysicalColumn():
                return LikeStrategy.INCLUDING
            case ComputedColumn():
                return self._strategy(LikeFeature.GENERATED)
            case MetadataColumn():
                return self._strategy(LikeFeature.METADATA)

    def _strategy(self, feature: LikeFeature) -> LikeStrategy:
        return self._strategies[feature]

    def _refuse(self, what: str, span: Span, code: Code) -> None:
        self.problems.append(
            Diagnostic(
                code,
                f'{what} is declared here and taken over from table "{self._base.name}" too',
                span,
                hint="Leave one of them out: EXCLUDING … or, where Flink has it, OVERWRITING … in the LIKE clause.",
            )
        )


def _wrong_options(written: tuple[LikeOption, ...]) -> Iterator[Diagnostic]:
    seen: set[LikeFeature] = set()
    for option in written:
        if option.feature in seen:
            yield Diagnostic(Code.SYNTAX, f"{option.feature} appears twice in the LIKE clause", option.span)
        seen.add(option.feature)
        if option.strategy is LikeStrategy.OVERWRITING and option.feature not in _CAN_OVERWRITE:
            yield Diagnostic(
                Code.SYNTAX,
                f"OVERWRITING {option.feature} is not possible",
                option.span,
                hint=f"OVERWRITING goes with {', '.join(sorted(_CAN_OVERWRITE))}.",
            )
