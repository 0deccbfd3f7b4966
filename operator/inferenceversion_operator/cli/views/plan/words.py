"""A plan in words: lines for a terminal, and Markdown for the comment of a review."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from inferenceversion_operator.cli.views.differences import Change
from inferenceversion_operator.cli.views.plan.endpoint import EndpointPlan
from inferenceversion_operator.cli.views.plan.manifest import Effect, ManifestPlan
from inferenceversion_operator.cli.views.plan.objects import Fate, FieldChange, ObjectChange

_EFFECT_STYLES = {Effect.NEW: "green", Effect.CHANGED: "yellow", Effect.REFUSED: "bold red", Effect.UNCHANGED: "dim"}
_SIGNS = {Fate.CREATED: ("+", "green"), Fate.CHANGED: ("~", "yellow"), Fate.DELETED: ("-", "red")}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~])")


@dataclass(frozen=True, slots=True)
class Planned:
    """What applying the files would do.

    Attributes:
        notes: what could not be looked at.
    """

    manifests: tuple[ManifestPlan, ...]
    endpoints: tuple[EndpointPlan, ...]
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        return any(manifest.effect is Effect.REFUSED for manifest in self.manifests)

    @property
    def changes(self) -> bool:
        written = any(manifest.effect in (Effect.NEW, Effect.CHANGED) for manifest in self.manifests)
        return written or any(endpoint.changes for endpoint in self.endpoints)


def as_lines(plan: Planned) -> Iterator[Text]:
    """Yield the plan for a terminal."""
    for manifest in plan.manifests:
        yield from _manifest(manifest)
    for endpoint in plan.endpoints:
        yield Text(f"{endpoint.namespace}/{endpoint.name}", "bold")
        yield from (Text(f"  {line}") for line in sentences(endpoint))
        for change in endpoint.objects:
            yield from _object(change)


def sentences(endpoint: EndpointPlan) -> Iterator[str]:
    """Yield what becomes of an endpoint, a line each."""
    if not endpoint.changes:
        yield f"nothing changes: {endpoint.stable or 'nothing'} serves"
    if endpoint.is_new:
        yield "is new"
    if endpoint.wanted_before == endpoint.wanted_after:
        yield f"wanted: {endpoint.wanted_after or 'no version'}, as before"
    else:
        yield f"wanted: {endpoint.wanted_before or 'none'} -> {endpoint.wanted_after or 'none'}"
    if endpoint.release and not endpoint.held:
        why = f" ({endpoint.why_at_once})" if endpoint.why_at_once else ""
        yield f"released: {' -> '.join(endpoint.release)}{why}"
    yield from (f"held back: {reason}" for reason in endpoint.held)
    yield from (f"ends: {end}" for end in endpoint.ends)
    for role in endpoint.roles:
        yield f"role: {role.version}: {role.before or 'none'} -> {role.after}"


def as_markdown(plan: Planned) -> str:
    """Return the plan as GitHub and GitLab render it; whatever it quotes is text there."""
    lines = ["| manifest | version | |", "|---|---|---|"]
    lines += [_row(manifest) for manifest in plan.manifests]
    for endpoint in plan.endpoints:
        lines += ["", f"**{_escape(f'{endpoint.namespace}/{endpoint.name}')}**", ""]
        lines += [f"- {_escape(line)}" for line in sentences(endpoint)]
        if endpoint.objects:
            lines += ["", *_details(endpoint.objects)]
    lines += [f"\n> {_escape(note)}" for note in plan.notes]
    return "\n".join(lines) + "\n"


def _manifest(manifest: ManifestPlan) -> Iterator[Text]:
    head = f"{manifest.file}:{manifest.line}: {manifest.kind}/{manifest.name}"
    version = f" {manifest.version}" if manifest.version else ""
    digest = f" {manifest.digest}" if manifest.digest and manifest.effect is Effect.NEW else ""
    yield Text.assemble(head, " ", (manifest.effect.value, _EFFECT_STYLES[manifest.effect]), f"{version}{digest}")
    yield from (Text(f"  {problem}", "red") for problem in manifest.problems)
    yield from (Text(f"  spec.{_field(change)}") for change in manifest.changes)


def _object(change: ObjectChange) -> Iterator[Text]:
    sign, style = _SIGNS[change.fate]
    yield Text(f"  {sign} {change.kind}/{change.name}", style)
    yield from (Text(f"      {_moved(field)}") for field in change.fields)


def _field(change: Change) -> str:
    return f"{change.field}: {_value(change.a)} -> {_value(change.b)}"


def _moved(field: FieldChange) -> str:
    return f"{field.field}: {_value(field.before)} -> {_value(field.after)}"


def _value(value: Any) -> str:
    if value is None:
        return "(unset)"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _row(manifest: ManifestPlan) -> str:
    told = [*manifest.problems, *(f"spec.{_field(change)}" for change in manifest.changes)]
    if manifest.effect is Effect.NEW and manifest.digest:
        told.append(manifest.digest)
    what = "<br>".join((f"**{manifest.effect.value}**", *map(_escape, told)))
    return f"| {_escape(f'{manifest.kind}/{manifest.name}')} | {_escape(manifest.version or '')} | {what} |"


def _details(objects: Sequence[ObjectChange]) -> Iterator[str]:
    count = ", ".join(f"{sum(o.fate is fate for o in objects)} {fate.value}" for fate in Fate if _any(objects, fate))
    lines = [line.plain for change in objects for line in _object(change)]
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    yield f"<details><summary>objects: {count}</summary>"
    yield ""
    yield f"{fence}diff"
    yield from (line.removeprefix("  ") for line in lines)
    yield fence
    yield ""
    yield "</details>"


def _any(objects: Iterable[ObjectChange], fate: Fate) -> bool:
    return any(change.fate is fate for change in objects)


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u200b")
