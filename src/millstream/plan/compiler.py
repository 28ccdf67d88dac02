"""Statement after statement: tables and settings are remembered, the rest becomes steps."""

from __future__ import annotations

from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.catalog.functions import load_function, read_function
from millstream.catalog.job_settings import JobSettings
from millstream.catalog.module_source import NotReadableError
from millstream.catalog.settings import SETTINGS, check_setting, setting_notice
from millstream.errors import Code, Diagnostic, Problems, ScriptError, by_place
from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.listings import describe, list_objects, show_create
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.node import depth_of, walk
from millstream.plan.physical.planner import assign_ids
from millstream.plan.program import JobPlan, Program, ShowJobs, Text
from millstream.plan.resolver.scans import check_watermark, computed_items
from millstream.plan.resolver.statements import build_insert, build_select, view_columns
from millstream.plan.resolver.table_of_query import table_of_query
from millstream.plan.rules import RULES
from millstream.sql.statements import (
    AlterTableRename,
    AlterTableReset,
    AlterTableSet,
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
    InsertInto,
    ObjectName,
    ResetOption,
    Select,
    SetOption,
    Show,
    ShowKind,
    StatementSet,
    Use,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from millstream.catalog.catalog import Catalog
    from millstream.catalog.table import CatalogTable
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.program import Step
    from millstream.sql.parser import ParsedScript
    from millstream.sql.statements import Name, Statement

    ObjectDefinition = (
        CreateTable | CreateView | CreateFunction | Drop | AlterTableSet | AlterTableReset | AlterTableRename
    )
    Definition = ObjectDefinition | CreateCatalog | DropCatalog | CreateDatabase | DropDatabase | Use

_DEEPEST: Final = 250
"""Operators one above the other: Spark and the translation for it handle a plan by recursion."""
_FOLLOW_UPS: Final = frozenset(
    {Code.UNDEFINED_TABLE, Code.UNDEFINED_FUNCTION, Code.MISSING_PRIMARY_KEY, Code.SINK_KEY_DIFFERS}
)
"""What a table, view or function that was refused brings about where it is used."""
_KINDS: Final[dict[type[Statement], str]] = {
    CreateTable: "table",
    CreateTableAs: "table",
    CreateView: "view",
    CreateFunction: "function",
}


class Compiler:
    """Settings the caller overrides win over SET; job names of the caller's session are not given twice."""

    def __init__(
        self,
        catalog: Catalog,
        settings: dict[str, str],
        running_jobs: Collection[str],
        overrides: Mapping[str, str],
        *,
        imports: bool,
    ) -> None:
        self._catalog = catalog
        self._job_names = set(running_jobs)
        self._given = {**settings, **overrides}
        self._overrides = overrides
        self._settings = dict(self._given)
        self._steps: list[Step] = []
        self._function = load_function if imports else read_function
        self._broken: set[str] = set()
        self._said: list[str] = []
        """What statements say in vain, with their places."""
        self._unread: dict[str, str] = {}
        """What could not be read without running a module: its name, and what to call it."""
        self._left_to_run: list[str] = []

    def compile(self, script: ParsedScript) -> Program:
        problems = list(script.problems)
        follow_ups: list[Diagnostic] = []
        self._broken.update(script.unreadable_tables)
        for statement in script.statements:
            try:
                self._take(statement)
            except RecursionError:
                problems.append(Diagnostic(Code.SYNTAX, "the statement is nested too deeply", statement.span))
            except NotReadableError as error:
                without = "its signature is not known without running its module"
                why = f"can only be checked at run time: {without}, since {error.why}"
                self._leave_to_run(statement, why)
            except ScriptError as error:
                found = [problem for problem in error.diagnostics if not self._causes(problem, self._unread)]
                for diagnostic in found:
                    (follow_ups if self._causes(diagnostic, self._broken) else problems).append(diagnostic)
                if not found:
                    used = {name for problem in error.diagnostics for name in self._causes(problem, self._unread)}
                    whats = " and ".join(self._unread[name] for name in sorted(used))
                    why = f"cannot be checked yet because it uses {whats}"
                    self._leave_to_run(statement, why)
                elif isinstance(statement, CreateTable | CreateTableAs | CreateView | CreateFunction):
                    self._broken.add(statement.name.text)
        problems = problems or follow_ups
        if problems:
            raise ScriptError(by_place(problems))
        notices = dict.fromkeys(
            chain(map(_format_warning, script.warnings), self._said, self._left_to_run, self._notices())
        )
        unchecked = len(self._left_to_run)
        return Program(tuple(self._steps), tuple(self._settings.items()), tuple(notices), unchecked)

    def _leave_to_run(self, statement: Statement, why: str) -> None:
        what = "this statement"
        if isinstance(statement, CreateTable | CreateTableAs | CreateView | CreateFunction):
            what = f'{_KINDS[type(statement)]} "{statement.name.text}"'
            self._unread[statement.name.text] = what
        place = f"{statement.span.source.name}:{statement.span.line}"
        self._left_to_run.append(f"{place}: {what} {why}")

    def _notices(self) -> Iterator[str]:
        """What the settings and tables say in vain, or leave to us."""
        for key, value in self._settings.items():
            if notice := setting_notice(key, value):
                yield notice
        for job in self._steps:
            if isinstance(job, JobPlan):
                yield from (notice.text for table in job.tables for notice in table.notices)
                yield from _notices_of_state(job)
                yield from map(_watermark_notice, _tables_without_effect(job))

    def _tell(self, text: str, about: Statement | Name) -> None:
        self._said.append(f"{about.span.source.name}:{about.span.line}: {text}")

    def _take(self, statement: Statement) -> None:
        match statement:
            case SetOption() | ResetOption():
                self._configure(statement)
            case CreateTableAs():
                if (insert := self._create_table_of_query(statement)) is not None:
                    self._steps.append(self._job(insert))
            case StatementSet(inserts=()):
                self._tell("the statement set is empty: there is nothing to run", statement)
            case InsertInto() | StatementSet() | Select():
                self._steps.append(self._job(statement))
            case Explain() | Describe() | Show():
                self._steps.append(self._answer(statement))
            case _:
                self._define(statement)

    def _define(self, statement: Definition) -> None:
        match statement:
            case CreateCatalog():
                self._catalog.databases.create_catalog(statement)
            case DropCatalog():
                self._catalog.drop_catalog(statement)
            case CreateDatabase():
                self._catalog.databases.create_database(statement)
            case DropDatabase():
                self._catalog.drop_database(statement)
            case Use():
                self._catalog.databases.use(statement)
            case _:
                self._define_object(statement)

    def _define_object(self, statement: ObjectDefinition) -> None:
        match statement:
            case CreateTable():
                self._create_table(statement)
            case CreateView():
                self._catalog.create_view(statement, view_columns(statement, self._catalog))
            case CreateFunction():
                self._create_function(statement)
            case Drop():
                self._catalog.drop(statement)
            case AlterTableSet():
                self._catalog.set_options(statement)
            case AlterTableReset():
                for key in self._catalog.reset_options(statement):
                    self._tell(
                        f"table \"{statement.name.text}\" has no option '{key.text}': there is nothing to reset", key
                    )
            case AlterTableRename():
                self._catalog.rename(statement)

    def _create_table_of_query(self, statement: CreateTableAs) -> InsertInto | None:
        """The INSERT that fills the table; None where the table exists, and may."""
        if self._catalog.is_there(statement.table):
            self._tell(f'table "{statement.name.text}" exists: nothing is written into it', statement)
            return None
        made = table_of_query(statement, self._catalog)
        self._create_table(made.table)
        return made.insert

    def _create_table(self, statement: CreateTable) -> None:
        problems = Problems()
        problems.of(lambda: self._catalog.create_table(statement))
        table = problems.of(lambda: self._catalog.find_created(statement))
        if table is not None:
            problems.of(lambda: computed_items(table, self._catalog.functions))
            problems.of(lambda: check_watermark(table, self._catalog.functions))
        problems.raise_all()

    def _create_function(self, statement: CreateFunction) -> None:
        if statement.name.text.upper() in FUNCTIONS:
            raise ScriptError(
                Diagnostic(
                    Code.INVALID_FUNCTION,
                    f'function "{statement.name.text}" would never be called: a built-in function has that name',
                    statement.name.span,
                    hint="Choose another name.",
                )
            )
        folder = Path(statement.span.source.name).parent
        function = self._function(statement.name.text, statement.implementation.text, statement.span, [folder])
        self._catalog.create_function(function, if_not_exists=statement.if_not_exists)

    def _configure(self, statement: SetOption | ResetOption) -> None:
        if isinstance(statement, SetOption):
            check_setting(statement.key, statement.value, statement.span)
            self._settings[statement.key] = self._overrides.get(statement.key, statement.value)
        elif statement.key is None:
            self._settings = dict(self._given)
        else:
            if statement.key not in SETTINGS:
                check_setting(statement.key, "", statement.span)
            self._settings.pop(statement.key, None)
            if statement.key in self._given:
                self._settings[statement.key] = self._given[statement.key]

    def _answer(self, statement: Explain | Describe | Show) -> Step:
        match statement:
            case Explain():
                names = set(self._job_names)
                text = self._job(statement.statement).explain()
                self._job_names = names
                return Text(text)
            case Describe():
                return describe(self._catalog.relation(statement.name), self._catalog)
            case Show(kind=ShowKind.JOBS):
                return ShowJobs()
            case Show(name=ObjectName() as name):
                return Text(show_create(self._catalog.relation(name), statement, self._catalog))
            case _:
                return list_objects(statement, self._catalog, self._settings)

    def _job(self, statement: InsertInto | StatementSet | Select) -> JobPlan:
        problems = Problems()
        roots: list[Root | None] = []
        match statement:
            case InsertInto():
                wanted = statement.target.text
                roots.append(problems.of(partial(self._insert, statement)))
            case StatementSet():
                wanted = "+".join(dict.fromkeys(insert.target.text for insert in statement.inserts))
                roots += [problems.of(partial(self._insert, insert)) for insert in statement.inserts]
            case Select():
                wanted = "select"
                roots.append(problems.of(lambda: self._apply_rules(build_select(statement, self._catalog))))
        problems.raise_all()
        plans = assign_ids([root for root in roots if root is not None])
        settings = JobSettings.of(self._settings)
        return JobPlan(self._job_name(wanted), plans, settings, tuple(self._settings.items()))

    def _insert(self, statement: InsertInto) -> Root:
        return self._apply_rules(build_insert(statement, self._catalog))

    def _apply_rules(self, root: Root) -> Root:
        settings = JobSettings.of(self._settings)
        for rule in RULES:
            root = rule(root, settings)
        if (depth := depth_of(root)) > _DEEPEST:
            raise ScriptError(
                Diagnostic(
                    Code.UNSUPPORTED_STATEMENT,
                    "the query is nested too deeply",
                    root.span,
                    detail=f"Its plan is {depth} operators deep, and {_DEEPEST} are supported.",
                    hint="Write UNION ALL without parentheses around its parts, or divide the query: write what its "
                    "inner part gives into a table, and read that.",
                )
            )
        return root

    def _job_name(self, wanted: str) -> str:
        """Named after the sink, which stays the same when statements are added around it."""
        numbered = (f"{wanted}-{number}" for number in count(2))
        name = next(name for name in chain([wanted], numbered) if name not in self._job_names)
        self._job_names.add(name)
        return name

    def _causes(self, diagnostic: Diagnostic, objects: Collection[str]) -> list[str]:
        """Those of these objects from which it follows."""
        primary = diagnostic.primary.lower()
        return [name for name in objects if diagnostic.code in _FOLLOW_UPS and f'"{name.lower()}"' in primary]


def _format_warning(warning: Diagnostic) -> str:
    place = f"{warning.span.source.name}:{warning.span.line}: " if warning.span is not None else ""
    return f"{place}{warning.primary}"


def _notices_of_state(job: JobPlan) -> Iterator[str]:
    """What may cost more than the query shows: each at its first place in a job."""
    nodes = [node for root in job.roots for node in walk(root)]
    alone = next((node for node in nodes if node.runs_in_one_task), None)
    if alone is not None:
        why = "without an equality, all rows meet in one task, each compared with all of the other side"
        yield f"{_place_of(alone)}: {why}"
    grows = next((node for node in nodes if node.keeps_all_rows(job.settings.state_ttl)), None)
    if grows is not None and not (job.is_bounded or job.is_shown):
        hint = ", or add the hint STATE_TTL," if grows.hinted_ttls else ""
        how = f"set 'table.exec.state.ttl'{hint} to let rows expire"
        yield f"{_place_of(grows)}: {grows.noun} keeps every row that it has read, so its state grows for ever; {how}"


def _place_of(node: Node) -> str:
    return f"{node.span.source.name}:{node.span.line}"


def _tables_without_effect(job: JobPlan) -> Iterator[CatalogTable]:
    """Those whose watermark no operator waits for."""
    nodes = [node for root in job.roots for node in walk(root)]
    watched = {node.scan_id for node in nodes if isinstance(node, AssignWatermark)}
    yield from (
        scan.source.table for scan in job.logical_scans if scan.source.table.watermark and scan.id not in watched
    )


def _watermark_notice(table: CatalogTable) -> str:
    assert table.watermark is not None
    place = table.watermark.span
    why = "has no effect here: nothing in the query waits for it, and no row is late"
    return f'{place.source.name}:{place.line}: WATERMARK of table "{table.name}" {why}'
