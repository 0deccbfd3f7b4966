"""Key -> Snapshot: everything that is known of one endpoint, frozen. The only reads of a reconciliation."""

from inferenceversion_operator.adapters.kube.cache import Cache, Key
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.snapshot import Broken, Failure, Object, Settings, Snapshot


def observe(cache: Cache, key: Key, settings: Settings, failure: Failure | None) -> Snapshot:
    """Build the snapshot of an endpoint from the watch cache."""
    namespace, name = key
    endpoint: InferenceEndpoint | None = None
    versions: list[InferenceVersion] = []
    broken: list[Broken] = []
    objects: list[Object] = []
    pods: list[Object] = []
    for obj in cache.of_endpoint(key):
        match obj["kind"]:
            case "InferenceEndpoint":
                endpoint = parse_endpoint(obj)
            case "InferenceVersion":
                _read_version(obj, versions, broken)
            case "Pod":
                pods.append(obj)
            case _:
                objects.append(obj)
    return Snapshot(
        namespace=namespace,
        name=name,
        settings=settings,
        endpoint=endpoint,
        versions=tuple(sorted(versions, key=lambda v: v.name)),
        broken=tuple(broken),
        objects=tuple(objects),
        pods=tuple(pods),
        failure=failure,
    )


def _read_version(obj: Object, versions: list[InferenceVersion], broken: list[Broken]) -> None:
    try:
        versions.append(parse_version(obj))
    except (KeyError, TypeError, ValueError) as error:
        meta = obj["metadata"]
        problem = f"{type(error).__name__}: {error}"
        broken.append(
            Broken(meta["namespace"], meta["name"], meta.get("generation", 1), problem, obj.get("status") or {})
        )
