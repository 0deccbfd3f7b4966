"""Run a list of named steps, two at a time where they allow it, and say which of how many is done."""

import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TextIO

from dev.shell import DevError

LANES = 2  # go build uses all cores itself; the second lane fills its link phases
HEARTBEAT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of work; `work` returns False when there was nothing to do."""

    name: str
    work: Callable[[], bool]
    after: tuple[str, ...] = ()


def done_line(number: int, total: int, name: str, seconds: float, *, worked: bool) -> str:
    took = f"{seconds:.0f} s" if worked else "ready"
    return f"[{number}/{total}] {name} ... {took}"


def running_line(number: int, total: int, running: Iterable[tuple[str, float]]) -> str:
    parts = ", ".join(f"{name} ({seconds:.0f} s so far)" for name, seconds in running)
    return f"[{number}/{total}] busy with {parts}"


@dataclass(slots=True)
class _Run:
    steps: list[Step]
    out: TextIO
    clock: Callable[[], float]
    finished: set[str] = field(default_factory=set)
    running: dict[Future[bool], tuple[Step, float]] = field(default_factory=dict)

    def ready(self, waiting: list[Step]) -> Step | None:
        return next((step for step in waiting if self.finished.issuperset(step.after)), None)

    def start(self, pool: ThreadPoolExecutor, waiting: list[Step]) -> None:
        while len(self.running) < LANES:
            step = self.ready(waiting)
            if step is None:
                return
            waiting.remove(step)
            self.running[pool.submit(step.work)] = (step, self.clock())

    def say(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def collect(self) -> None:
        done, _ = wait(self.running, timeout=HEARTBEAT_SECONDS, return_when=FIRST_COMPLETED)
        now = self.clock()
        if not done:
            busy = [(step.name, now - began) for step, began in self.running.values()]
            self.say(running_line(len(self.finished), len(self.steps), busy))
        for future in done:
            step, began = self.running.pop(future)
            try:
                worked = future.result()
            except DevError as error:
                raise DevError(f"{step.name}: {error}") from error
            self.finished.add(step.name)
            self.say(done_line(len(self.finished), len(self.steps), step.name, now - began, worked=worked))


def check_order(steps: list[Step]) -> None:
    """A step may only wait for steps before it in the list: then it always can start some day."""
    seen: set[str] = set()
    for step in steps:
        unknown = set(step.after) - seen
        if unknown:
            raise ValueError(f"{step.name} waits for {sorted(unknown)}, which is not before it")
        seen.add(step.name)


def run_steps(
    steps: list[Step],
    out: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Run all; the first failure is raised once the steps beside it have ended."""
    check_order(steps)
    run = _Run(steps, out or sys.stderr, clock)
    waiting = list(steps)
    with ThreadPoolExecutor(max_workers=LANES) as pool:
        while waiting or run.running:
            run.start(pool, waiting)
            run.collect()
