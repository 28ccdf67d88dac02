"""`millstream check` and `millstream explain`: compile a script, without Spark or a broker."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.catalog.catalog import Catalog
from millstream.catalog.module_source import NotReadableError
from millstream.catalog.settings import check_setting
from millstream.cli.arguments import pairs, parameters_of, read_script
from millstream.cli.unused_tables import Findings, find_unused_tables
from millstream.connectors.kafka.custom_partitioner import check_partitioner
from millstream.errors import ScriptError, by_place
from millstream.plan.program import Program, compile_script
from millstream.runtime.before_start import unbuilt_in
from millstream.runtime.kafka.tables import kafka_sinks
from millstream.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.errors import Diagnostic


@dataclass(frozen=True, slots=True)
class CheckRequest:
    script: Path
    parameters: tuple[str, ...]
    settings: tuple[str, ...]
    as_json: bool = False


def check_script(request: CheckRequest) -> int:
    catalog = Catalog()
    try:
        program = compile_request(request, catalog)
        findings = _findings(program, catalog)
    except ScriptError as error:
        every = _add_unused_tables(error, catalog)
        if not request.as_json:
            raise every from None
        _print_json([problem.as_json() for problem in every.diagnostics])
        return every.exit_code
    notices = tuple(dict.fromkeys((*program.notices, *findings.notices)))
    if request.as_json:
        _print_json([], notices, program)
        return 0
    for notice in notices:
        print(notice)
    jobs = ", ".join(job.name for job in program.jobs)
    if program.unchecked:
        statements = "1 statement" if program.unchecked == 1 else f"{program.unchecked} statements"
        print(f"{request.script}: no errors found so far; {statements} can only be checked at run time")
    else:
        print(f"{request.script}: no errors; {f'jobs: {jobs}' if jobs else 'no INSERT or SELECT, nothing to run'}")
    return 0


def _findings(program: Program, catalog: Catalog) -> Findings:
    """For a script that can be planned: what `run` would refuse, and problems of tables that it would not use."""
    tables = find_unused_tables(catalog, {table.table.name for job in program.jobs for table in job.tables})
    partitioners = _check_partitioners(program)
    if errors := (*unbuilt_in(program), *partitioners.errors, *tables.errors):
        raise ScriptError(by_place(errors))
    return Findings((), (*tables.notices, *partitioners.notices))


def _check_partitioners(program: Program) -> Findings:
    """Checks the Python classes that tables name; their modules are read, not imported."""
    errors: list[Diagnostic] = []
    notices: list[str] = []
    for sink in (sink for job in program.jobs for sink in kafka_sinks(job)):
        try:
            check_partitioner(sink)
        except ScriptError as error:
            errors += error.diagnostics
        except NotReadableError as error:
            notices.append(
                f"partitioner '{sink.partitioner.implementation}' of table \"{sink.table.name}\" can only be checked "
                f"at run time: it is not known without running its module, since {error.why}"
            )
    return Findings(tuple(errors), tuple(notices))


def _add_unused_tables(error: ScriptError, catalog: Catalog) -> ScriptError:
    """Which tables a script uses is unknown if it cannot be compiled, so all of them are checked."""
    more = find_unused_tables(catalog, (), error.diagnostics).errors
    return ScriptError(by_place((*error.diagnostics, *more)))


def _print_json(
    errors: list[dict[str, Any]],
    notices: tuple[str, ...] = (),
    program: Program | None = None,
) -> None:
    found = {
        "errors": errors,
        "notices": list(notices),
        "jobs": [job.name for job in program.jobs] if program else [],
    }
    print(json.dumps(found, ensure_ascii=False))


def explain_script(request: CheckRequest) -> int:
    program = compile_request(request, Catalog())
    if program.unchecked:
        print(*program.notices, sep="\n", file=sys.stderr)
    if request.as_json:
        print(json.dumps({"jobs": [{"name": job.name, "plan": job.explain()} for job in program.jobs]}))
        return 0
    if not program.jobs:
        print(f"{request.script} has no INSERT or SELECT statement, so there is no plan")
    for number, job in enumerate(program.jobs):
        ends = "ends by itself" if job.is_bounded else "runs until it is stopped"
        print(f"{chr(10) if number else ''}{job.name} ({ends})\n{job.explain()}")
    return 0


def compile_request(request: CheckRequest, catalog: Catalog) -> Program:
    text = read_script(request.script)
    settings = pairs(request.settings, "--set")
    for key, value in settings.items():
        check_setting(key, value)
    return compile_script(
        SourceText(str(request.script), text), parameters_of(request.parameters), {}, catalog, overrides=settings
    )
