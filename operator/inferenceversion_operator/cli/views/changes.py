"""What changed between two looks at the endpoints, a line each: for logs, where a tree that moves is no use."""

from collections.abc import Iterable, Iterator, Sequence

from inferenceversion_operator.cli.views.candidate import CandidateView, place
from inferenceversion_operator.cli.views.status import EndpointView, State, VersionView


def changed_lines(before: Sequence[EndpointView], after: Sequence[EndpointView]) -> list[str]:
    """Return what a person wants to read later; values that move at every look are no news."""
    old = {(view.namespace, view.name): view for view in before}
    new = {(view.namespace, view.name): view for view in after}
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        where = "/".join(key)
        if key not in new:
            lines.append(f"{where}: is gone")
        elif key not in old:
            lines += (f"{where}: {line}" for line in ("is new", *_first(new[key])))
        else:
            lines += (f"{where}: {line}" for line in _endpoint(old[key], new[key]))
    return lines


def _first(view: EndpointView) -> Iterator[str]:
    yield f"{view.phase}: {view.reason}: {view.message}"


def _endpoint(old: EndpointView, new: EndpointView) -> Iterator[str]:
    yield from _moved("phase", old.phase, new.phase)
    yield from _moved("stable", old.stable, new.stable)
    yield from _moved("pin", old.pin, new.pin)
    if old.paused != new.paused:
        yield "is paused" if new.paused else "is no longer paused"
    if old.reason != new.reason:
        yield f"{new.reason}: {new.message}"
    yield from _candidate(old.candidate, new.candidate)
    yield from _versions(old.versions, new.versions)


def _moved(what: str, old: str | None, new: str | None) -> Iterator[str]:
    if old != new:
        yield f"{what} {old or 'none'} -> {new or 'none'}"


def _candidate(old: CandidateView | None, new: CandidateView | None) -> Iterator[str]:
    if new is None:
        return
    same = old if old and old.version == new.version else None
    if same is None or place(same) != place(new):
        yield f"candidate {new.version}: {place(new)}"
    if same and new.since and same.since != new.since and place(same) == place(new):
        yield f"candidate {new.version}: the step has begun"
    if new.awaiting_approval_since and not (same and same.awaiting_approval_since):
        yield f"candidate {new.version}: its gates pass; waits for kubectl iv promote"
    verdicts = {gate.name: gate.verdict for gate in same.gates} if same else {}
    for gate in new.gates:
        known = verdicts.get(gate.name, "Inconclusive")  # a step begins with too little to tell
        if known != gate.verdict:
            bound = f" ({gate.value} {gate.bound})" if gate.value is not None and gate.bound else ""
            why = f": {gate.message}" if gate.message and gate.verdict != "Pass" else ""
            yield f"candidate {new.version}: gate {gate.name} {gate.verdict}{bound}{why}"


def _versions(old: Iterable[VersionView], new: Iterable[VersionView]) -> Iterator[str]:
    before = {view.name: view for view in old}
    for view in new:
        earlier = before.pop(view.name, None)
        if earlier is None:
            yield f"version {view.version}: is new ({view.name})"
        elif told := list(_version(earlier, view)):
            yield f"version {view.version}: {', '.join(told)}"
    for gone in before.values():
        yield f"version {gone.version}: is gone"


def _version(old: VersionView, new: VersionView) -> Iterator[str]:
    yield from _moved("role", old.role, new.role)
    if old.weight != new.weight:
        yield f"weight {old.weight} % -> {new.weight} %"
    if (old.ready_replicas, old.replicas) != (new.ready_replicas, new.replicas):
        yield f"ready {new.ready_replicas}/{new.replicas}"
    if (old.reason, old.held) != (new.reason, new.held):
        yield new.held or (new.reason if new.state is State.CURRENT else f"{new.reason}: {new.message}")
