"""`millstream check` and `millstream explain`: a script understood, with neither Spark nor a broker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.catalog.settings import check_setting
from millstream.cli.arguments import pairs, read_script
from millstream.plan.program import Program, compile_script
from millstream.runtime.before_start import unbuilt_in
from millstream.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class CheckRequest:
    script: Path
    parameters: tuple[str, ...]
    settings: tuple[str, ...]
    as_json: bool = False


def check_script(request: CheckRequest) -> int:
    program = _understood(request)
    unbuilt = tuple(dict.fromkeys(unbuilt_in(program)))
    if request.as_json:
        found = {
            "errors": [],
            "unbuilt": [problem.as_json() for problem in unbuilt],
            "notices": list(program.notices),
            "jobs": [job.name for job in program.jobs],
        }
        print(json.dumps(found, ensure_ascii=False))
        return 0
    for notice in program.notices:
        print(notice)
    for problem in unbuilt:
        place = f"{problem.span.source.name}:{problem.span.line}: " if problem.span else ""
        print(f"{place}run refuses this: {problem.primary}")
    jobs = ", ".join(job.name for job in program.jobs)
    print(f"{request.script} is in order: {f'it runs {jobs}' if jobs else 'it starts no job'}")
    return 0


def explain_script(request: CheckRequest) -> int:
    program = _understood(request)
    if request.as_json:
        print(json.dumps({"jobs": [{"name": job.name, "plan": job.explain()} for job in program.jobs]}))
        return 0
    if not program.jobs:
        print(f"{request.script} has no INSERT or SELECT statement: there is no plan")
    for number, job in enumerate(program.jobs):
        ends = "ends by itself" if job.is_bounded else "runs until it is stopped"
        print(f"{chr(10) if number else ''}{job.name} ({ends})\n{job.explain()}")
    return 0


def _understood(request: CheckRequest) -> Program:
    text = read_script(request.script)
    settings = pairs(request.settings, "--set")
    for key, value in settings.items():
        check_setting(key, value)
    return compile_script(
        SourceText(str(request.script), text), pairs(request.parameters, "--param"), {}, overrides=settings
    )
