"""What to print of a release, look by look: where it is, who gets how much, what its gates see; pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferenceversion_operator.cli.views.candidate import CandidateView, GateView, place, view_gates
from inferenceversion_operator.cli.views.status import EndpointView

Object = Mapping[str, Any]
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")
# What Ready is made of, while pods start.
_POD_CONDITIONS = ("Scheduled", "WeightsVerified", "Loaded", "WarmedUp")
_NOT_IN_DIGEST = "(not in the digest)"


def release_lines(before: EndpointView | None, now: EndpointView) -> Iterator[str]:
    """Yield what is new since the look before: where the release is, and each gate whose verdict has changed."""
    candidate = now.candidate
    if candidate is None:
        return
    earlier = before.candidate if before and before.candidate else None
    if earlier is None or _where(earlier) != _where(candidate):
        earlier = None
        if candidate.since or candidate.phase != "Canary":  # the Gateway takes a share in a moment
            yield f"{_where(candidate)}: {_shares(now, candidate)}"
    yield from gate_lines(earlier.gates if earlier else (), candidate.gates)


def gate_lines(before: Iterable[GateView], now: Iterable[GateView]) -> Iterator[str]:
    """Yield a line for those that pass now, one for each that fails, and one for those that pass no more."""
    told = {gate.name: gate.verdict for gate in before}
    changed = [gate for gate in now if told.get(gate.name) != gate.verdict]
    passed = [gate for gate in changed if gate.verdict == "Pass"]
    unclear = [gate for gate in changed if gate.verdict == "Inconclusive" and gate.name in told]
    if passed:
        yield f"  pass  {', '.join(map(_seen, passed))}"
    for gate in changed:
        if gate.verdict == "Fail":
            yield f"  FAIL  {_seen(gate)}: {gate.message}"
    if unclear:
        yield f"  unclear again: {', '.join(map(_seen, unclear))}"


def ending_lines(before: EndpointView | None, entry: Object) -> Iterator[str]:
    """Yield how a release ended: what its last look saw, and the outcome."""
    candidate = before.candidate if before else None
    same = candidate is not None and candidate.version == entry["version"]
    told = candidate.gates if candidate and same else ()
    lines = list(gate_lines(told, view_gates(entry.get("gates"))))
    yield from lines
    gate_told = any(line.lstrip().startswith("FAIL") for line in lines)
    yield f"{str(entry['outcome']).lower()}: {_keeps(entry) if gate_told else _sentence(entry)}"


def condition_lines(before: Object, now: Object) -> Iterator[str]:
    """Yield a line for each condition of a version that is not as it was, but for what Ready says anyway."""
    for condition in _changed_conditions(before, now):
        if condition["status"] != "Unknown" and condition["type"] != "Reconciling":
            yield _condition(condition)


def obstacle_lines(before: Object, now: Object) -> Iterator[str]:
    """Yield a line for each new thing that keeps a version's pods from being ready, such as no room on any node."""
    for condition in _changed_conditions(before, now):
        if condition["status"] == "False" and condition["type"] in _POD_CONDITIONS:
            yield _condition(condition)


def releases_with_evidence(history: Iterable[Object]) -> list[tuple[str, str]]:
    """Return version and outcome of the releases that went through steps, the oldest first, each version once."""
    newest: dict[str, Object] = {}
    for entry in history:
        newest.setdefault(entry["version"], entry)
    return [(version, entry["outcome"]) for version, entry in reversed(newest.items()) if entry.get("steps")]


def state_in_words(view: EndpointView | None) -> str:
    """Return what was seen last, for a message that something took too long."""
    if view is None:
        return "there is no endpoint yet: does the operator run?"
    told = f"endpoint {view.reason}: {view.message}"
    waiting = [f"{v.version} {v.reason}: {v.message}" for v in view.versions if v.role == "Candidate"]
    unclear = [
        f"gate {gate.name}: {gate.message}"
        for gate in (view.candidate.gates if view.candidate else ())
        if gate.verdict != "Pass"
    ]
    return "; ".join((told, *waiting, *unclear))


def changed_fields(diff: str) -> list[str]:
    """Return the lines of ``kubectl iv diff`` about what is part of the snapshot, with short digests."""
    lines = (line for line in diff.splitlines() if line.startswith("  ") and not line.endswith(_NOT_IN_DIGEST))
    return [_DIGEST.sub(r"\1", line.strip()) for line in lines]


def _changed_conditions(before: Object, now: Object) -> Iterator[Object]:
    told = {condition["type"]: (condition["status"], condition["message"]) for condition in _conditions(before)}
    for condition in _conditions(now):
        if told.get(condition["type"]) != (condition["status"], condition["message"]):
            yield condition


def _condition(condition: Object) -> str:
    return f"{condition['type']:<16}{condition['status']:<8} {condition['message']}"


def _conditions(version: Object) -> Iterable[Object]:
    return (version.get("status") or {}).get("conditions") or ()


def _where(candidate: CandidateView) -> str:
    begun = "" if candidate.since or candidate.phase == "Starting" else ", getting ready"
    return f"{place(candidate)}{begun}"


def _shares(view: EndpointView, candidate: CandidateView) -> str:
    return f"{view.stable} has {100 - candidate.weight} %, {candidate.version} {candidate.weight} %"


def _seen(gate: GateView) -> str:
    unit = "ms" if gate.name.startswith(("p95", "p99")) else None
    return " ".join(part for part in (gate.name, _short(gate.value), gate.bound, unit) if part)


def _short(value: str | None) -> str | None:
    """Return a decimal number with three digits after the point at most.

    >>> _short("0.982759"), _short("131"), _short("0.5")
    ('0.983', '131', '0.5')
    """
    whole, point, digits = (value or "").partition(".")
    return f"{float(f'{whole}.{digits}'):.3f}" if point and len(digits) > 3 else value


def _keeps(entry: Object) -> str:
    return f"{entry.get('instead')} keeps all requests"


def _sentence(entry: Object) -> str:
    message = str(entry.get("message") or entry.get("reason") or "")
    return message.partition("; ")[0] if len(message) > 200 else message
