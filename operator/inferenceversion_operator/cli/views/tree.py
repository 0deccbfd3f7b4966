"""The tree of ``kubectl iv status``: endpoint -> candidate with its gates, versions."""

from collections.abc import Iterable

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from inferenceversion_operator.cli.views.status import CandidateView, EndpointView, State, VersionView, short_digest

_ROLE_STYLES = {"Stable": "green", "Candidate": "yellow", "Warm": "cyan", "Failed": "bold red"}
_STATE_STYLES = {State.CURRENT: "green", State.IN_PROGRESS: "yellow", State.FAILED: "bold red", State.UNKNOWN: "dim"}
_VERDICT_STYLES = {"Pass": "green", "Fail": "bold red", "Inconclusive": "yellow"}


def make_tree(views: Iterable[EndpointView]) -> Group:
    """Return the tree of each endpoint."""
    return Group(*(_endpoint(view) for view in views))


def _endpoint(view: EndpointView) -> Tree:
    tree = Tree(_head(view))
    tree.add(_sentence(view))
    if view.candidate:
        _add_candidate(tree, view.candidate)
    rows = [_cells(version) for version in view.versions]
    widths = [max(len(cell) for cell, _ in column) for column in zip(*rows, strict=True)]
    for row in rows:
        tree.add(_line(row, widths))
    if not rows:
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
    behind = ""
    if not view.up_to_date and view.reason != "NoStatus":
        behind = " (of an earlier spec; the operator has not seen the last change yet)"
    return Text(f"{view.reason}: {view.message}{behind}", style=_STATE_STYLES[view.state])


def _add_candidate(tree: Tree, candidate: CandidateView) -> None:
    step = "" if candidate.step is None else f", step {candidate.step}"
    since = f", since {candidate.since}" if candidate.since else ""
    branch = tree.add(Text(f"candidate {candidate.version}: {candidate.weight} %{step}{since}", style="yellow"))
    for gate in candidate.gates:
        value = f" {gate.value}" if gate.value is not None else ""
        why = f"  {gate.message or gate.reason}" if gate.message or gate.reason else ""
        style = _VERDICT_STYLES.get(gate.verdict, "")
        branch.add(Text.assemble(f"{gate.name}{value} ", (gate.verdict, style), why))


def _cells(view: VersionView) -> tuple[tuple[str, str], ...]:
    why = view.reason if view.state is State.CURRENT else f"{view.reason}: {view.message}"
    return (
        (view.version + (" (pinned)" if view.pinned else ""), "bold"),
        (view.role, _ROLE_STYLES.get(view.role, "")),
        (f"{view.weight} %", ""),
        (f"{view.ready_replicas}/{view.replicas}", ""),
        (short_digest(view.digest), "dim"),
        (why, _STATE_STYLES[view.state]),
    )


def _line(row: tuple[tuple[str, str], ...], widths: list[int]) -> Text:
    text = Text()
    for (cell, style), width in zip(row, widths, strict=True):
        if text:
            text.append("  ")
        text.append(cell, style)
        if cell is not row[-1][0]:
            text.append(" " * (width - len(cell)))
    return text
