"""``kubectl iv render``: the objects that the operator would make, without a cluster."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from inferenceversion_operator.cli.documents import read_documents
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Files, MoreFiles, filenames
from inferenceversion_operator.cli.output import say, to_yaml
from inferenceversion_operator.cli.valid import require_valid
from inferenceversion_operator.cli.views.objects import make_objects
from inferenceversion_operator.core.snapshot import Settings

EXAMPLES = (
    "kubectl iv render -f version.yaml",
    "kubectl iv render -f version.yaml endpoint.yaml -n news --gateway inference-gateway/inference",
    "kubectl iv render -f version.yaml | kubectl diff -f -",
)
_GUARD_IMAGE, _FETCH_IMAGE = "guard-image-not-set", "fetch-image-not-set"


class RenderFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


def command(  # noqa: PLR0913, PLR0917 - options of a command line
    files: Files = None,
    more: MoreFiles = None,
    output: Annotated[RenderFormat, typer.Option("--output", "-o", help="Form of the answer.")] = RenderFormat.YAML,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Namespace of objects that name none.", metavar="NAME")
    ] = "default",
    guard_image: Annotated[
        str, typer.Option(help="Image of the guard (Envoy).", envvar="IVO_GUARD_IMAGE", metavar="IMAGE")
    ] = _GUARD_IMAGE,
    fetch_image: Annotated[
        str, typer.Option(help="Image of fetch (the operator's).", envvar="IVO_FETCH_IMAGE", metavar="IMAGE")
    ] = _FETCH_IMAGE,
    gateway: Annotated[
        str | None,
        typer.Option(help="The operator's default Gateway; with one there are routes.", metavar="NAMESPACE/NAME"),
    ] = None,
    gateway_domain: Annotated[
        str, typer.Option(help="Domain of hostnames.", envvar="IVO_GATEWAY_DOMAIN", metavar="DOMAIN")
    ] = "inference.local",
) -> None:
    """Print the objects of each version: its ConfigMap, Deployment, Service and budget, and what leads to it.

    Routes and the endpoint's Service are those of a version that is stable. Owner references are there only where the
    manifest has a uid, as what comes from a cluster does.
    """
    documents = read_documents(filenames(files, more))
    versions = [document for document in documents if document.kind == "InferenceVersion"]
    if not versions:
        raise UserError(f"no InferenceVersion in {', '.join(filenames(files, more))}")
    require_valid(documents)
    endpoints = [document.obj for document in documents if document.kind == "InferenceEndpoint"]
    settings = Settings(
        guard_image=guard_image,
        fetch_image=fetch_image,
        gateway_parent_refs=_parent_refs(gateway),
        gateway_domain=gateway_domain,
        route_kinds=frozenset({"HTTPRoute", "GRPCRoute"}),
    )
    objects = [obj for v in versions for obj in make_objects(v.obj, endpoints, settings, namespace)]
    if output is RenderFormat.JSON:
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2, ensure_ascii=False))
    else:
        print("---\n".join(to_yaml(obj) for obj in objects), end="")
    if guard_image == _GUARD_IMAGE or fetch_image == _FETCH_IMAGE:
        say("note: image names are placeholders: set --guard-image and --fetch-image to what the operator runs with")


def _parent_refs(gateway: str | None) -> tuple[dict[str, str], ...]:
    if gateway is None:
        return ()
    namespace, _, name = gateway.partition("/")
    if not namespace or not name or "/" in name:
        raise UserError(f"--gateway {gateway}: write NAMESPACE/NAME", ExitCode.USAGE)
    return ({"name": name, "namespace": namespace},)
