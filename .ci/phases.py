"""Run the phases of `make test` one after the other and end with one summary.

A phase that fails does not stop the next one, unless the next one cannot run without it: without a cluster there is
no e2e (integration starts a control plane of its own). Choose phases by name: `make test ARGS="lint unit"`.
"""

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "results"


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    targets: tuple[str, ...]
    needs: str = ""  # a phase that must have passed
    tests: bool = True  # leaves a junit file


PHASES = (
    Phase("lint", ("lint",), tests=False),
    Phase("unit", ("unit",)),
    Phase("cluster", ("up", "images"), tests=False),
    Phase("integration", ("integration",)),
    Phase("e2e", ("e2e",), needs="cluster"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    ok: bool
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""
    failures: list[str] = field(default_factory=list)


def main() -> int:
    chosen = arguments()
    RESULTS.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    for phase in PHASES:
        if phase.name not in chosen:
            continue
        broken = [o.name for o in outcomes if o.name == phase.needs and not o.ok]
        outcomes.append(
            Outcome(phase.name, ok=False, failed=1, note=f"not run: {broken[0]} failed") if broken else run(phase)
        )
    return summary(outcomes)


def arguments() -> list[str]:
    parser = argparse.ArgumentParser(prog="make test", description=__doc__.splitlines()[0] if __doc__ else "")
    names = [phase.name for phase in PHASES]
    parser.add_argument(
        "phases", nargs="*", metavar="phase", help=f"any of {', '.join(names)} (all of them unless named)"
    )
    given = parser.parse_args().phases
    if unknown := sorted(set(given) - set(names)):
        parser.error(f"no such phase: {', '.join(unknown)} (there are: {', '.join(names)})")
    return given or names


def run(phase: Phase) -> Outcome:
    print(f"\n=== {phase.name} " + "=" * (100 - len(phase.name)), flush=True)
    report = RESULTS / f"{phase.name}.xml"
    report.unlink(missing_ok=True)
    # Flags of this make (a dry run, a job server) and ARGS are not for the phases.
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ARGS"}
    }
    began = time.monotonic()
    code = 0
    for target in phase.targets:
        code = subprocess.run(["make", target], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, check=False).returncode
        if code:
            break
    seconds = time.monotonic() - began
    if not phase.tests:
        return Outcome(
            phase.name, code == 0, seconds, failed=int(code != 0), note="" if code == 0 else f"make {target}"
        )
    return counted(phase, report, code, seconds)


def counted(phase: Phase, report: Path, code: int, seconds: float) -> Outcome:
    """Read pytest's report; a phase that failed without a failing test, or ran none, counts as one failure."""
    if not report.is_file():
        return Outcome(phase.name, ok=False, seconds=seconds, failed=1, note="no report: pytest did not get that far")
    suite = next(ET.parse(report).getroot().iter("testsuite"))  # noqa: S314 - written by pytest a moment ago
    tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    failures = [
        f"{case.get('classname', '')}::{case.get('name', '')}"
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    note = ""
    if code and not failed:
        failed, note = 1, f"pytest ended with {code}"
    elif tests == skipped:
        failed, note = 1, "every test was skipped: nothing is known"
    passed = max(tests - skipped - len(failures), 0)
    return Outcome(phase.name, failed == 0, seconds, passed, failed, skipped, note, failures)


def summary(outcomes: list[Outcome]) -> int:
    print("\n=== summary " + "=" * 93)
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"FAILED {outcome.name}: {failure}")
    print(f"{'phase':<14}{'':<8}{'seconds':>9}{'passed':>9}{'failed':>9}{'skipped':>9}")
    for o in outcomes:
        word = "ok" if o.ok else "FAILED"
        print(f"{o.name:<14}{word:<8}{o.seconds:>9.1f}{o.passed:>9}{o.failed:>9}{o.skipped:>9}  {o.note}".rstrip())
    total = sum(o.seconds for o in outcomes)
    print(f"{'all':<14}{'':<8}{total:>9.1f}\n")
    passed, failed, skipped = (sum(getattr(o, key) for o in outcomes) for key in ("passed", "failed", "skipped"))
    closing = f"{passed} passed, {failed} failed, {skipped} skipped"
    (RESULTS / "summary.txt").write_text(closing + "\n")
    print(closing, flush=True)
    return 0 if outcomes and all(o.ok for o in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
