"""The tree of ``kubectl iv status``: endpoint -> candidate with its gates, versions."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from inferenceversion_operator.cli.views.candidate import (
    LOOK_FOR_OPERATOR,
    CandidateView,
    GateView,
    lasting,
    place,
    unseen_for,
    waits_for,
)
from inferenceversion_operator.cli.views.status import EndpointView, State, VersionView, short_digest
from inferenceversion_operator.core.gates.scope import Phase

_ROLE_STYLES = {"Stable": "green", "Candidate": "yellow", "Warm": "cyan", "Failed": "bold red"}
_STATE_STYLES = {State.CURRENT: "green", State.IN_PROGRESS: "yellow", State.FAILED: "bold red", State.UNKNOWN: "dim"}
_VERDICT_STYLES = {"Pass": "green", "Fail": "bold red", "Inconclusive": "yellow"}
_STAGES = (Phase.SHADOW, Phase.CANARY)
_Cell = tuple[str, str]  # text, style


def make_tree(views: Iterable[EndpointView], now: datetime) -> Group:
    """Return the tree of each endpoint."""
    return Group(*(_endpoint(view, now) for view in views))


def _endpoint(view: EndpointView, now: datetime) -> Tree:
    tree = Tree(_head(view))
    tree.add(_sentence(view))
    if view.candidate:
        _add_candidate(tree, view, view.candidate, now)
    for line in _aligned([_version(version, view) for version in view.versions]):
        tree.add(line)
    if not view.versions:
        tree.add(Text("no versions", style="dim"))
    return tree


def _head(view: EndpointView) -> Text:
    text = Text.assemble((f"{view.namespace}/{view.name}", "bold"), "  ", (view.phase, _STATE_STYLES[view.state]))
    if view.stable:
        text.append(f"  stable {view.stable}")
    if view.pin:
        text.append(f"  pinned to {view.pin}", style="yellow")
    if view.paused:
        text.append("  paused", style="yellow")
    if view.url:
        text.append(f"  {view.url}", style="dim")
    return text


def _sentence(view: EndpointView) -> Text:
    if view.candidate and view.candidate.gates and view.state is State.IN_PROGRESS and view.up_to_date:
        # What its gates say stands below, one a line.
        told = f"version {view.candidate.version}: {place(view.candidate)}; version {view.stable} serves"
        return Text(f"{view.reason}: {told}", style=_STATE_STYLES[view.state])
    behind = ""
    if not view.up_to_date and view.reason != "NoStatus":
        behind = " (of an earlier spec; the operator has not seen the last change yet)"
    return Text(f"{view.reason}: {view.message}{behind}", style=_STATE_STYLES[view.state])


def _add_candidate(tree: Tree, view: EndpointView, candidate: CandidateView, now: datetime) -> None:
    skips = ", steps are skipped" if candidate.skip_steps else ""
    head = f"candidate {candidate.version}: {place(candidate)}, {lasting(candidate, now)}{skips}"
    branch = tree.add(Text(head, style="yellow"))
    branch.add(Text(f"waits for {_waits_for(view, candidate, now)}"))
    if unseen := unseen_for(candidate, now):
        branch.add(
            Text(f"the operator has not looked at its gates for {unseen}: {LOOK_FOR_OPERATOR}", style="bold red")
        )
    for line in _aligned([_gate(gate) for gate in candidate.gates]):
        branch.add(line)


def _waits_for(view: EndpointView, candidate: CandidateView, now: datetime) -> str:
    if candidate.phase == Phase.STARTING and view.state is State.FAILED:
        return f"somebody, see above: {view.reason}"  # its pods may be ready long since
    return waits_for(candidate, view.name, now)


def _gate(gate: GateView) -> tuple[_Cell, ...]:
    seen = f"{gate.value if gate.value is not None else '?'} {gate.bound or ''}".rstrip()
    return (
        (gate.name, ""),
        (seen, "" if gate.value is not None else "dim"),
        (gate.verdict, _VERDICT_STYLES.get(gate.verdict, "")),
        (gate.message or gate.reason or "", ""),
    )


def _version(view: VersionView, endpoint: EndpointView) -> tuple[_Cell, ...]:
    # Of a release under way the candidate's own branch tells, of one that is stuck the endpoint's sentence.
    told = (view.reason, view.message) == (endpoint.reason, endpoint.message)
    plain = view.state is State.CURRENT or view.reason in _STAGES or told
    why = view.held or (view.reason if plain else f"{view.reason}: {view.message}")
    return (
        (view.version + (" (pinned)" if view.pinned else ""), "bold"),
        (view.role, _ROLE_STYLES.get(view.role, "")),
        (f"{view.weight} %", ""),
        (f"{view.ready_replicas}/{view.replicas}", ""),
        (short_digest(view.digest), "dim"),
        (why, "yellow" if view.held else _STATE_STYLES[view.state]),
    )


def _aligned(rows: Sequence[tuple[_Cell, ...]]) -> list[Text]:
    """Return a line a row, its cells below each other; the last one is as long as it likes."""
    widths = [max(len(cell) for cell, _ in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        text = Text("  ").join(
            Text(cell if last else f"{cell:<{width}}", style)
            for (cell, style), width, last in zip(row, widths, (*[False] * (len(row) - 1), True), strict=True)
        )
        text.rstrip()
        lines.append(text)
    return lines
