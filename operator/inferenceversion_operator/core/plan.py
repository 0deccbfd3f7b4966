"""What the core wants done, in the order in which it is safe to do it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ref:
    kind: str
    namespace: str
    name: str
    uid: str | None = None  # with it a deletion only hits the object that was seen


@dataclass(frozen=True, slots=True)
class StatusOf:
    """The whole status that an InferenceVersion or an InferenceEndpoint shall have."""

    ref: Ref
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event about one of our objects; sent once, when the status that tells it was written."""

    regarding: Ref
    type: str  # Normal or Warning
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    capacity: tuple[Object, ...] = ()  # ConfigMaps, Deployments, Services, budgets: before traffic
    version_statuses: tuple[StatusOf, ...] = ()  # a failure is on record before the endpoint forgets the candidate
    endpoint_status: StatusOf | None = None  # before the route that relies on it
    traffic: tuple[Object, ...] = ()  # the endpoint's Service and routes
    gateway_lags: bool = False  # requests still go as an earlier route said: nothing that may get some goes yet
    release: tuple[Object, ...] = ()  # Deployments that shrink: after traffic
    prune: tuple[Ref, ...] = ()
    events: tuple[Event, ...] = ()
    recheck_at: datetime | None = None
    questions: Mapping[str, str] = field(default_factory=dict)  # PromQL that the gates want answered now, by its key
    asked_for: str = ""  # what the answers will be about: answers about something else are thrown away
