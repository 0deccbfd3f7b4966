"""``kubectl iv pause`` and what ``resume`` shares with it."""

from dataclasses import dataclass

from inferenceversion_operator.cli.change import as_text, refuse_if_in_git
from inferenceversion_operator.cli.cluster import Cluster, Target, connect
from inferenceversion_operator.cli.options import Context, DryRun, Endpoint, Force, Kubeconfig, Namespace, Output
from inferenceversion_operator.cli.output import Format, show

EXAMPLES = ("kubectl iv pause news-sentiment", "kubectl iv pause news-sentiment -n news --dry-run")


@dataclass(frozen=True, slots=True)
class PauseView:
    endpoint: str
    namespace: str
    paused: bool
    changed: bool


def command(
    endpoint: Endpoint,
    dry_run: DryRun = False,
    force: Force = False,
    output: Output = Format.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Stop an endpoint from moving on to another version; what serves stays protected, and a rollback still works."""
    cluster = connect(Target(namespace, context, kubeconfig))
    view = set_paused(cluster, endpoint, paused=True, dry_run=dry_run, force=force)
    words = "is paused" if not view.changed else "would be paused" if dry_run else "is paused now"
    show(view, output, as_text([f"endpoint {endpoint} {words}"]))


def set_paused(cluster: Cluster, endpoint: str, *, paused: bool, dry_run: bool, force: bool) -> PauseView:
    """Set ``spec.paused`` where it differs.

    Raises:
        UserError: there is no such endpoint, or Git owns it.
    """
    found = cluster.endpoint(endpoint)
    changed = bool((found.get("spec") or {}).get("paused")) is not paused
    if changed:
        refuse_if_in_git(found, {"paused": paused}, force=force)
        if not dry_run:
            cluster.patch_endpoint(endpoint, {"spec": {"paused": paused}})
    return PauseView(endpoint, cluster.namespace, paused, changed)
