"""``kubectl iv unpin``: let the highest version that has not failed be the wanted one again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferenceversion_operator.cli.change import as_text, refuse_if_in_git
from inferenceversion_operator.cli.cluster import Target, connect
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Force, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, show
from inferenceversion_operator.cli.views.wanted import comes_after, takes_over, wanted_without_pin

Object = Mapping[str, Any]

EXAMPLES = ("kubectl iv unpin news-sentiment --dry-run", "kubectl iv unpin news-sentiment")


@dataclass(frozen=True, slots=True)
class UnpinView:
    endpoint: str
    namespace: str
    changed: bool
    pin: str | None  # that was
    stable: str | None
    wanted: str | None  # once the pin is gone
    notes: tuple[str, ...] = ()


def command(
    endpoint: Endpoint,
    dry_run: DryRun = False,
    force: Force = False,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Remove the pin of an endpoint, and say which version is wanted then."""
    cluster = connect(Target(namespace, context, kubeconfig))
    found, versions = cluster.endpoint(endpoint), cluster.versions_of(endpoint)
    pin = (found.get("spec") or {}).get("version")
    stable = (found.get("status") or {}).get("stable")
    wanted = wanted_without_pin(found, versions)
    notes = _notes(found, versions, wanted) if pin else ()
    view = UnpinView(endpoint, cluster.namespace, pin is not None, pin, stable, wanted, notes)
    if view.changed:
        refuse_if_in_git(found, {"version": None}, force=force)
        if not dry_run:
            cluster.patch_endpoint(endpoint, {"spec": {"version": None}})
    show(view, output, as_text([_sentence(view, dry_run=dry_run), *view.notes]))


def _notes(endpoint: Object, versions: Sequence[Object], wanted: str | None) -> tuple[str, ...]:
    """Say how the version that is wanted without the pin takes over, and what follows if it fails."""
    if wanted in (None, (endpoint.get("status") or {}).get("stable")):
        return ()
    if (endpoint.get("spec") or {}).get("paused"):
        return (f"the endpoint is paused: nothing moves until kubectl iv resume {endpoint['metadata']['name']}",)
    free = {**endpoint, "spec": {**endpoint["spec"], "version": None}}
    after = (f"if its release fails, {line}" for line in comes_after(free, versions, str(wanted)))
    return (f"version {wanted}: {takes_over(free, versions, str(wanted))}", *after)


def _sentence(view: UnpinView, *, dry_run: bool) -> str:
    if not view.changed:
        return f"endpoint {view.endpoint} has no pin"
    then = f"{view.wanted} stays" if view.wanted == view.stable else f"{view.wanted or 'no version'} is wanted then"
    done = "would no longer be" if dry_run else "is no longer"
    return f"endpoint {view.endpoint} {done} pinned to {view.pin}: {then}"
