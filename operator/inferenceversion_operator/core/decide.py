"""(Snapshot, now) -> Plan. Pure: the same snapshot always gives the same plan."""

from collections.abc import Iterator
from datetime import datetime

from inferenceversion_operator.core.endpoint_status import endpoint_status, next_history
from inferenceversion_operator.core.events import events_of, events_of_version
from inferenceversion_operator.core.objects.endpoint import make_endpoint
from inferenceversion_operator.core.plan import Event, Plan, Ref, StatusOf
from inferenceversion_operator.core.rollout.gateway import lags
from inferenceversion_operator.core.rollout.machine import next_release
from inferenceversion_operator.core.rollout.release import Release
from inferenceversion_operator.core.rollout.roles import Cast, assign_roles
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.core.version_status import broken_status, refused_status, version_status
from inferenceversion_operator.core.wanted import (
    make_capacity,
    make_comparison,
    make_traffic,
    prunable,
    split_by_direction,
)


def decide(seen: Snapshot, now: datetime) -> Plan:
    """Say what shall be true of one endpoint, its versions and their children."""
    if seen.endpoint is None or seen.endpoint.deleting:
        return _without_endpoint(seen, now)
    if not seen.versions and not seen.broken and seen.endpoint.managed:
        return Plan(prune=(Ref("InferenceEndpoint", seen.namespace, seen.name, seen.endpoint.uid),))
    release = next_release(seen, now)
    history = next_history(seen.endpoint, release, now)
    failed = frozenset({release.given_up.version.name}) if release.given_up else frozenset()
    cast = assign_roles(seen, release.stable, release.candidate, history, failed)
    capacity, shrinking = split_by_direction(seen, [*make_capacity(seen, cast), *make_comparison(seen, release)])
    traffic = make_traffic(seen, cast, release)
    statuses = _version_statuses(seen, cast, release, now)
    return Plan(
        capacity=capacity,
        version_statuses=statuses,
        endpoint_status=endpoint_status(seen, seen.endpoint, release, now),
        traffic=traffic,
        gateway_lags=lags(seen, traffic),
        release=shrinking,
        prune=prunable(seen, cast, (*capacity, *shrinking, *traffic)),
        events=(*events_of(seen.endpoint, release), *_version_events(seen, statuses)),
        recheck_at=release.recheck_at,
        questions=release.questions,
        asked_for=release.asked_for,
    )


def _without_endpoint(seen: Snapshot, now: datetime) -> Plan:
    statuses = tuple(broken_status(broken, now) for broken in seen.broken)
    if seen.endpoint is None and any(True for _ in seen.accepted()):
        return Plan(capacity=(make_endpoint(seen.namespace, seen.name),), version_statuses=statuses)
    return Plan(version_statuses=statuses)


def _version_statuses(seen: Snapshot, cast: Cast, release: Release, now: datetime) -> tuple[StatusOf, ...]:
    accepted = {version.version: version for version in seen.accepted()}
    statuses = [version_status(seen, version, cast, release, now) for version in accepted.values()]
    for version in seen.versions:
        first = accepted.get(version.version)
        if first and first.name != version.name and not version.deleting:
            statuses.append(refused_status(version, first, now))
    return (*statuses, *(broken_status(broken, now) for broken in seen.broken))


def _version_events(seen: Snapshot, statuses: tuple[StatusOf, ...]) -> Iterator[Event]:
    by_name = {version.name: version for version in seen.versions}
    for status in statuses:
        if status.ref.name in by_name:
            yield from events_of_version(by_name[status.ref.name], status)
