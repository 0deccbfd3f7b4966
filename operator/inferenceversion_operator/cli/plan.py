"""``kubectl iv plan``: what would change on the cluster if manifests were applied; nothing is written."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from inferenceversion_operator.adapters.kube.resources import CHILDREN, ENDPOINT_SLICE, POD, ROUTES
from inferenceversion_operator.api.labels import LABEL_ENDPOINT
from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.cluster import Cluster, NotAllowedError, Object, Target, connect
from inferenceversion_operator.cli.documents import Document, read_documents
from inferenceversion_operator.cli.errors import ClusterError, ExitCode, UserError
from inferenceversion_operator.cli.options import Context, Files, Kubeconfig, MoreFiles, Namespace, filenames
from inferenceversion_operator.cli.output import Format, say, show
from inferenceversion_operator.cli.views.plan.endpoint import EndpointPlan, Scene, endpoints_of, plan_endpoint
from inferenceversion_operator.cli.views.plan.manifest import Applied, Effect, apply, check
from inferenceversion_operator.cli.views.plan.settings import infer_settings
from inferenceversion_operator.cli.views.plan.words import Planned, as_lines, as_markdown

EXAMPLES = (
    "kubectl iv plan -f deploy/",
    "kubectl iv plan -f version.yaml -n news -o json",
    "kubectl iv plan -f deploy/ -o markdown > comment.md   (for a review)",
    "kubectl iv plan -f deploy/ --exit-code   (1 where anything would change)",
)
_NOTHING_THERE = (
    "nothing of the operator is in namespace {} yet, so how it is installed is not known: that there is a Gateway is a "
    "guess, and so are the images"
)


class PlanFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


def command(  # noqa: PLR0913, PLR0917 - options of a command line
    files: Files = None,
    more: MoreFiles = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 where anything would change, too.")
    ] = False,
    field_manager: Annotated[
        str, typer.Option(help="Whose server-side apply the dry run is.", metavar="NAME")
    ] = "kubectl",
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="Form of the answer.")] = PlanFormat.TABLE,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what applying manifests would do: to each object, to the release, and to what the operator makes of it.

    Of each manifest: new, unchanged, changed, or refused and why (an immutable snapshot, the schema, admission: the API
    server is asked by a dry run where this user may). Of each endpoint: which version is wanted then, by which steps it
    is released, what ends by it, what a pin or a pause holds back, and the objects that change in the first moment. It
    is the operator's own decision, made here with what is on the cluster; nothing is written. Exit code 0: all of it
    would be taken, whether or not it changes anything; 1: something would be refused.
    """
    documents = read_documents(filenames(files, more))
    if not documents:
        raise UserError(f"no InferenceVersion or InferenceEndpoint in {', '.join(filenames(files, more))}")
    cluster = connect(Target(namespace, context, kubeconfig))
    plan = make_plan(cluster, documents, field_manager)
    if output is PlanFormat.MARKDOWN:
        print(as_markdown(plan), end="")
    else:
        show(plan, Format(output.value), Text("\n").join(as_lines(plan)))
        for note in plan.notes:
            say(f"note: {note}")
    if plan.refused or (exit_code and plan.changes):
        raise typer.Exit(int(ExitCode.NO))


def make_plan(cluster: Cluster, documents: Iterable[Document], field_manager: str) -> Planned:
    """Ask the cluster what it has, and decide."""
    notes: dict[str, None] = {}  # each once, in their order
    applied = [_apply(cluster, document, field_manager, notes) for document in documents]
    sound = [each.after for each in applied if each.after is not None]
    endpoints = [_plan_endpoint(cluster, key, applied, notes) for key in sorted(endpoints_of(sound))]
    manifests = tuple(_without_duplicates(each, endpoints) for each in applied)
    return Planned(tuple(each.plan for each in manifests), tuple(endpoints), tuple(notes))


def _apply(cluster: Cluster, document: Document, field_manager: str, notes: dict[str, None]) -> Applied:
    manifest = _placed(document.obj, cluster.namespace)
    place = (document.file, document.line(""))
    repeated = tuple(f"{path}: is written twice in the same place (line {line})" for path, line in document.repeated)
    if not document.name:
        raise UserError(f"{place[0]}:{place[1]}: {document.title}: set metadata.name")
    live = cluster.find(document.kind, manifest["metadata"]["namespace"], document.name) if _known(document) else None
    problems = (*repeated, *check(manifest, live))
    dry_run: Object | None = None
    if not problems:
        try:
            dry_run = cluster.dry_run(manifest, field_manager)
        except NotAllowedError as error:
            notes[f"admission was not asked: {error}"] = None
        except ClusterError:
            raise
        except UserError as error:
            problems = (str(error),)
    return apply(manifest, live, dry_run, problems, place, clock.now())


def _known(document: Document) -> bool:
    return document.kind in ("InferenceVersion", "InferenceEndpoint")


def _placed(obj: Mapping[str, Any], namespace: str) -> Object:
    metadata = obj.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {**obj, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def _plan_endpoint(
    cluster: Cluster, key: tuple[str, str], applied: Iterable[Applied], notes: dict[str, None]
) -> EndpointPlan:
    namespace, name = key
    versions = [v for v in cluster.versions(namespace) if (v.get("spec") or {}).get("endpoint") == name]
    live = cluster.find("InferenceEndpoint", namespace, name)
    children, kinds = _children(cluster, namespace, notes)
    mine = [obj for obj in children if (obj["metadata"].get("labels") or {}).get(LABEL_ENDPOINT) == name]
    before = Scene(live, versions, mine)
    after = Scene(live, versions, mine)
    for each in applied:
        if each.after is not None and each.plan.namespace == namespace:
            after = _with(after, each.after, name)
    if not children:
        notes[_NOTHING_THERE.format(namespace)] = None
    settings = infer_settings(name, namespace, [*mine, *children], kinds)
    return plan_endpoint(key, before, after, settings, clock.now())


def _with(scene: Scene, obj: Object, endpoint: str) -> Scene:
    """Return the objects with this one as it would be."""
    if obj["kind"] == "InferenceEndpoint":
        return replace(scene, endpoint=obj) if obj["metadata"]["name"] == endpoint else scene
    if (obj.get("spec") or {}).get("endpoint") != endpoint:
        return scene
    others = [v for v in scene.versions if v["metadata"]["name"] != obj["metadata"]["name"]]
    return replace(scene, versions=(*others, obj))


def _children(cluster: Cluster, namespace: str, notes: dict[str, None]) -> tuple[list[Object], frozenset[str]]:
    """Return what the operator made in a namespace, and the kinds of routes that there are."""
    found: list[Object] = []
    kinds = set()
    for resource in (*CHILDREN, *ROUTES, ENDPOINT_SLICE, POD):
        try:
            objects = cluster.children(resource, namespace)
        except NotAllowedError as error:
            notes[f"{resource.plural} were not looked at: {error}"] = None
            continue
        found += objects or ()
        if resource in ROUTES and objects is not None:
            kinds.add(resource.kind)
    return found, frozenset(kinds)


def _without_duplicates(applied: Applied, endpoints: Iterable[EndpointPlan]) -> Applied:
    """Refuse what the operator refuses: a version whose number another object has."""
    plan = applied.plan
    for endpoint in endpoints:
        if (
            plan.kind == "InferenceVersion"
            and plan.namespace == endpoint.namespace
            and plan.name in endpoint.duplicates
        ):
            message = f"spec.version {plan.version} of endpoint {endpoint.name} is taken by another InferenceVersion"
            return replace(applied, plan=replace(plan, effect=Effect.REFUSED, problems=(*plan.problems, message)))
    return applied
