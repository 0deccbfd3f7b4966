"""Key -> Snapshot: everything that is known of one endpoint, frozen. The only reads of a reconciliation."""

from dataclasses import replace

from inferenceversion_operator.adapters.kube.cache import Cache, Key
from inferenceversion_operator.adapters.kube.slim import unpacked
from inferenceversion_operator.api.parse import parse_endpoint, parse_version
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.snapshot import Broken, Failure, Object, Settings, Snapshot


class Reader:
    """Reads versions; a spec can't change without its generation, so it is read once."""

    _LIMIT = 20_000

    def __init__(self) -> None:
        self._known: dict[str, InferenceVersion] = {}

    def read(self, obj: Object) -> InferenceVersion:
        """Return the view of an InferenceVersion.

        Raises:
            KeyError, TypeError, ValueError: it can't be read.
        """
        meta = obj["metadata"]
        known = self._known.get(meta["uid"])
        if known is None or known.generation != meta.get("generation"):
            if len(self._known) >= self._LIMIT:
                self._known.pop(next(iter(self._known)))
            known = parse_version({**obj, "spec": unpacked(obj["spec"]), "status": {}})
            self._known[meta["uid"]] = known
        return replace(known, status=obj.get("status") or {}, deleting=bool(meta.get("deletionTimestamp")))


def observe(cache: Cache, key: Key, settings: Settings, failure: Failure | None, reader: Reader) -> Snapshot:
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
                _read_version(obj, reader, versions, broken)
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


def _read_version(obj: Object, reader: Reader, versions: list[InferenceVersion], broken: list[Broken]) -> None:
    try:
        versions.append(reader.read(obj))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        meta = obj["metadata"]
        problem = f"{type(error).__name__}: {error}"
        broken.append(
            Broken(meta["namespace"], meta["name"], meta.get("generation", 1), problem, obj.get("status") or {})
        )
