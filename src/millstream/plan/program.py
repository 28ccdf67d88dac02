"""A whole script, understood: what it does, step by step. No Spark, no broker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from millstream.catalog.catalog import Catalog
from millstream.plan.explain import explain_logical, explain_physical
from millstream.plan.operators.node import walk
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.values import Values
from millstream.plan.physical.planner import plan_physically
from millstream.sql.nesting import with_room

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from millstream.catalog.job_settings import JobSettings
    from millstream.connectors.tables import Sink, Source
    from millstream.plan.operators.roots import Root
    from millstream.plan.physical.nodes import PhysicalPlan
    from millstream.source import SourceText


@dataclass(frozen=True)
class JobPlan:
    """An INSERT, a set of them or a SELECT, ready to become a job."""

    name: str
    roots: tuple[Root, ...]
    """The logical plans, one per INSERT."""
    settings: JobSettings
    setting_texts: tuple[tuple[str, str], ...]
    """As they are written, those without effect among them."""
    may_share_scans: bool = True
    """Whether INSERTs of a set, and both inputs of an operator, may read a table in one scan."""
    may_pair_scans: bool = True
    """Whether both inputs of an operator may."""

    @cached_property
    def physical(self) -> PhysicalPlan:
        """Planned when it is first asked for: that loads Arrow, which a check of a script does not need."""
        may_pair_scans = self.may_share_scans and self.may_pair_scans
        return with_room(
            lambda: plan_physically(
                self.roots, self.settings, may_share_scans=self.may_share_scans, may_pair_scans=may_pair_scans
            )
        )

    @property
    def is_bounded(self) -> bool:
        """A bounded job ends by itself, and the next step waits for it."""
        return all(source.is_bounded for source in self._sources)

    @property
    def is_shown(self) -> bool:
        """A SELECT keeps nothing: each run shows its rows from the beginning."""
        return any(isinstance(root, Collect) for root in self.roots)

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Where tables are read as the job runs; a scan that INSERTs share counts once."""
        return self.physical.scans

    @property
    def logical_scans(self) -> tuple[Scan, ...]:
        """Where tables are read as the script says; each INSERT has its own."""
        return tuple(node for root in self.roots for node in walk(root) if isinstance(node, Scan))

    @property
    def lookups(self) -> tuple[Scan, ...]:
        """The tables that rows are looked up in."""
        tables = (table for root in self.roots for node in walk(root) for table in node.looked_up)
        return tuple(node for table in tables for node in walk(table) if isinstance(node, Scan))

    @property
    def generated_rows(self) -> int | None:
        """How many rows there are to read, where the script or generators that end make all of them; else None."""
        written = [len(node.rows) for root in self.roots for node in walk(root) if isinstance(node, Values)]
        generated = [scan.source.generated_rows for scan in self.scans]
        known = [count for count in generated if count is not None]
        return sum(written) + sum(known) if len(known) == len(generated) else None

    def reading_apart(self) -> JobPlan:
        """The same job with a scan for each place where it reads a table."""
        return replace(self, may_share_scans=False)

    def reading_inputs_apart(self) -> JobPlan:
        """The same job with a scan for each input of an operator."""
        return replace(self, may_pair_scans=False)

    @property
    def tables(self) -> tuple[Source | Sink, ...]:
        """All that is read, looked up and written; what is read several times is there once."""
        read = {source.table.name: source for source in (*self._sources, *(scan.source for scan in self.lookups))}
        return (*read.values(), *(root.sink for root in self.roots if isinstance(root, Write)))

    @property
    def _sources(self) -> Sequence[Source]:
        return [scan.source for scan in self.logical_scans]

    def explain(self) -> str:
        """With secrets masked: literals in it may have come from secret parameters."""
        text = with_room(lambda: f"{explain_logical(self.roots)}\n\n{explain_physical(self.physical)}")
        return self.roots[0].span.source.discreet(text)


@dataclass(frozen=True, slots=True)
class Listing:
    """What DESCRIBE and SHOW answer."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_json(self) -> dict[str, Any]:
        return {"rows": [dict(zip(self.headings, row, strict=True)) for row in self.rows]}

    def render(self) -> str:
        """Columns as wide as their widest cell."""
        cells = (self.headings, *self.rows)
        widths = [max(len(row[at]) for row in cells) for at in range(len(self.headings))]
        ruled = (self.headings, tuple("-" * width for width in widths), *self.rows)
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in ruled
        )


@dataclass(frozen=True, slots=True)
class Text:
    """What EXPLAIN and SHOW CREATE answer."""

    text: str

    def render(self) -> str:
        return self.text

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class ShowJobs:
    """Answered while the script runs."""


Step = JobPlan | Listing | Text | ShowJobs


@dataclass(frozen=True, slots=True)
class Program:
    steps: tuple[Step, ...]
    setting_texts: tuple[tuple[str, str], ...]
    """What is set when the script ends, as it is written."""
    notices: tuple[str, ...] = ()
    """What the user should know and need not change."""
    unchecked: int = 0
    """How many statements are left out, since a module that they name must run before they are understood."""

    @property
    def jobs(self) -> tuple[JobPlan, ...]:
        return tuple(step for step in self.steps if isinstance(step, JobPlan))

    @property
    def keeps_rows_in_python(self) -> bool:
        return all(job.physical.keeps_rows_in_python for job in self.jobs)


def compile_script(
    source: SourceText,
    parameters: Mapping[str, str],
    settings: Mapping[str, str],
    catalog: Catalog | None = None,
    *,
    running_jobs: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
    imports: bool = False,
) -> Program:
    """Understands every statement; problems of all of them are raised together.

    With `imports`, the modules of functions in Python are imported, as jobs need them; else they are only read.
    """
    from millstream.plan.compiler import Compiler
    from millstream.sql.parser import parse_script
    from millstream.sql.script import expand

    compiler = Compiler(catalog or Catalog(), dict(settings), running_jobs, overrides or {}, imports=imports)
    script = expand(source, parameters)
    program = with_room(lambda: compiler.compile(parse_script(script)))
    return replace(program, notices=tuple(map(script.source.discreet, program.notices)))
