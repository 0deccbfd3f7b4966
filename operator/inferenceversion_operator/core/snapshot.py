"""What the core sees: one endpoint, its versions and their children, frozen at one moment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferenceversion_operator.api.labels import LABEL_NAME
from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.gates.answers import Measured

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's configuration as far as it shapes objects and decisions."""

    guard_image: str
    fetch_image: str
    image_pull_policy: str = "IfNotPresent"
    gateway_parent_refs: tuple[Mapping[str, Any], ...] = ()
    gateway_domain: str = "inference.local"
    route_kinds: frozenset[str] = frozenset()  # of HTTPRoute, GRPCRoute: what the cluster serves
    prometheus: bool = True  # there is one to ask
    differ_image: str = ""
    stable_grace_s: float = 30.0  # without a ready pod for longer, a stable version is broken; a pod that moves is not
    ready_deadline_s: float = 900.0  # a candidate that isn't Ready by then is Failed, if another one serves


@dataclass(frozen=True, slots=True)
class Broken:
    """An InferenceVersion that can't be read, though the API server stored it (an older or newer schema)."""

    namespace: str
    name: str
    generation: int
    problem: str
    status: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """What the last attempt to write ran into; it is told in a condition until an attempt succeeds.

    Attributes:
        object_name: name of the child that could not be written.
        needs_a_person: retrying alone won't help.
        retry_after: seconds that the API server asked to wait.
    """

    reason: str
    message: str
    object_name: str
    needs_a_person: bool
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    namespace: str
    name: str
    settings: Settings
    endpoint: InferenceEndpoint | None = None
    versions: tuple[InferenceVersion, ...] = ()
    broken: tuple[Broken, ...] = ()
    objects: tuple[Object, ...] = ()  # live children of the endpoint and of its versions, pods excepted
    pods: tuple[Object, ...] = ()
    failure: Failure | None = None
    measured: Measured | None = None  # the last answers to the gates' questions

    def find(self, kind: str, name: str) -> Object | None:
        """Return the live child of this kind and name."""
        for obj in self.objects:
            if obj["kind"] == kind and obj["metadata"]["name"] == name:
                return obj
        return None

    def version(self, version: str | None) -> InferenceVersion | None:
        """Return the version with this ``spec.version``; of duplicates the one that came first."""
        for candidate in self.accepted():
            if candidate.version == version:
                return candidate
        return None

    def accepted(self) -> Iterator[InferenceVersion]:
        """Yield the versions that may serve: not being deleted, and the first of each ``spec.version``."""
        taken: set[str] = set()
        for version in sorted(self.versions, key=_seniority):
            if version.version not in taken:
                taken.add(version.version)
                if not version.deleting:
                    yield version

    def pods_of(self, version: InferenceVersion) -> tuple[Object, ...]:
        """Return the live pods of a version, the newest first."""
        wanted = version_name(version.name)
        mine = [
            pod
            for pod in self.pods
            if pod["metadata"].get("labels", {}).get(LABEL_NAME) == wanted
            and not pod["metadata"].get("deletionTimestamp")
        ]
        return tuple(sorted(mine, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), reverse=True))


def _seniority(version: InferenceVersion) -> tuple[bool, str, str]:
    """Order objects by who came first; creation times are whole seconds, so what was accepted before comes before."""
    accepted = [c for c in version.status.get("conditions", ()) if c["type"] == "Accepted" and c["status"] == "True"]
    return not accepted, version.created, version.name
