"""`make soak MINUTES=10 SEED=7`: kills jobs at random, lets them finish, and looks for lost or duplicate messages."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Final

import typer

from millstream.testing.broker import EmbeddedBroker
from millstream.testing.script_kafka import ScriptKafka
from tests.faults.soak.checks import CHECKS
from tests.faults.soak.feed import Feed
from tests.faults.soak.jobs import PARTITIONS, SCRIPT, SINKS, SOURCES
from tests.faults.soak.kills import LifePlan, Victim, life_plans
from tests.faults.soak.life import Life

_START_SECONDS: Final = 180.0
_FAILPOINT_SECONDS: Final = 15.0
"""How long to wait until a failpoint is reached."""
_LOOK_SECONDS: Final = 0.5
_END_SECONDS: Final = 60.0
_DRAIN_SECONDS: Final = 1200.0


class Soak:
    def __init__(self, brokers: str, folder: Path, minutes: float, kills: int) -> None:
        self._brokers = brokers
        self._folder = folder
        self._script = folder / "soak.sql"
        self._script.write_text(SCRIPT)
        self._began = time.monotonic()
        self._ends = self._began + 60 * minutes
        self._wanted = kills
        self._lives = 0
        self._before: Life | None = None
        self.kills: Counter[Victim] = Counter()
        self.faults: list[str] = []
        """Everything that a job must not do, other than losing and duplicating messages."""

    @property
    def is_over(self) -> bool:
        return self.kills.total() >= self._wanted or time.monotonic() >= self._ends

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self._began) / 60

    def live(self, plan: LifePlan) -> None:
        life = self._start(armed=plan.armed)
        try:
            if plan.armed:
                self._await_failpoint(life, plan.armed)
            else:
                self._carry_out(life, plan)
        finally:
            if life.exit_code is None:
                life.end()
        self._sweep()
        self._before = life

    def drain(self) -> None:
        life = self._start(drain=True)
        try:
            if not life.ends_within(_DRAIN_SECONDS) or life.exit_code != 0:
                self._fault(f"what was fed is not drained: {life.complaint}")
        finally:
            if life.exit_code is None:
                life.end()
        self._sweep()

    def _sweep(self) -> None:
        if self._before is not None and (left := self._before.sweep()):
            self._fault(f"{left} processes of the life before were still there")

    def _start(self, *, armed: str | None = None, drain: bool = False) -> Life:
        self._lives += 1
        return Life(self._script, self._brokers, self._folder / f"{self._lives:03}.log", armed=armed, drain=drain)

    def _carry_out(self, life: Life, plan: LifePlan) -> None:
        if not plan.in_start and life.ends_before_a_batch(_START_SECONDS):
            self._fault(f"no batch: {life.complaint}")
            return
        began = time.monotonic()
        for kill in plan.kills:
            if life.ends_within(began + kill.moment - time.monotonic()):
                self._fault(f"it ended by itself: {life.complaint}")
                return
            if life.gave_up_a_job:
                self._fault(f"a job was given up: {life.complaint}")
                return
            if self.is_over:
                return
            victim = life.kill(kill)
            self._tell(victim, life, f" (in start, {kill.moment:.1f} s)" if plan.in_start else "")
            if victim in (Victim.JOB, Victim.DRIVER, Victim.JVM):
                if not life.ends_within(_END_SECONDS):
                    self._fault("it went on without its JVM")
                return

    def _await_failpoint(self, life: Life, armed: str) -> None:
        life.ends_before_a_batch(_START_SECONDS)
        deadline = time.monotonic() + _FAILPOINT_SECONDS
        while not life.ends_within(_LOOK_SECONDS) and not life.gave_up_a_job and time.monotonic() < deadline:
            pass
        if life.gave_up_a_job and armed.endswith(":raise"):
            self._tell(Victim.EXCEPTION, life, f" {armed}")
        elif life.exit_code is None:
            self._say(f"{armed} was not come by")
        elif life.exit_code == -signal.SIGKILL:
            self._tell(Victim.FAILPOINT, life, f" {armed}")
        elif life.exit_code and armed.endswith(":cancel"):
            self._tell(Victim.CANCELLED, life, f" {armed}")
        else:
            self._fault(f"it ended by itself: {life.complaint}")
        if life.exit_code is None:
            life.end()

    def _tell(self, victim: Victim, life: Life, more: str) -> None:
        self.kills[victim] += 1
        self._say(f"kill {self.kills.total():3}: {victim}{more}; batches: {life.batches}")

    def _fault(self, fault: str) -> None:
        self.faults.append(f"life {self._lives}: {fault}")
        self._say(f"FAULT in {self.faults[-1]}")

    def _say(self, text: str) -> None:
        print(f"{60 * self.minutes:7.1f} s  {text}", flush=True)


def check(brokers: str, fed: int) -> int:
    """Prints the result for each table; returns the number of lost and duplicate messages."""
    wrong = 0
    print(f"{'table':8} {'messages':>9} {'lost':>5} {'duplicates':>10}")
    for sink in SINKS:
        found = CHECKS[sink](ScriptKafka(brokers).read(sink), fed)
        wrong += found.lost + found.doubled
        print(f"{sink:8} {found.messages:9,} {found.lost:5} {found.doubled:10}", flush=True)
    return wrong


def main(
    *,
    minutes: Annotated[float, typer.Option(help="How long to kill jobs.")] = 10.0,
    kills: Annotated[int, typer.Option(help="After how many kills to stop.")] = 100,
    seed: Annotated[
        int | None, typer.Option(help="The seed of all random choices.", show_default="the current time")
    ] = None,
) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no process is left running
    seed = int(time.time()) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="millstream-soak-"))
    print(f"seed {seed}, in {folder}", flush=True)
    with EmbeddedBroker(data=folder / "broker") as broker:
        for topic in (*SOURCES, *SINKS):
            ScriptKafka(broker.bootstrap).create_topic(topic, PARTITIONS)
        soak = Soak(broker.bootstrap, folder, minutes, kills)
        with Feed(broker.bootstrap) as feed:
            plans = life_plans(seed)
            while not soak.is_over:
                soak.live(next(plans))
            took = soak.minutes
            fed = feed.end()
        print(f"draining {fed:,} numbers", flush=True)
        soak.drain()
        by_victim = ", ".join(f"{victim} {count}" for victim, count in soak.kills.most_common())
        total = soak.kills.total()
        print(f"seed {seed}: {total} kills in {took:.1f} minutes ({total / took:.1f} a minute): {by_victim}")
        print(f"{len(soak.faults)} faults", *soak.faults, sep="\n  ")
        wrong = check(broker.bootstrap, fed)
    if wrong or soak.faults:
        print(f"all files are kept in {folder}")
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    typer.run(main)
