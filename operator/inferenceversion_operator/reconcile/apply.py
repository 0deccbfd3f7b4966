"""Plan -> calls on the writer, in the order that is safe: capacity, status, traffic, and only then what shrinks."""

import asyncio
from collections.abc import Iterable

from inferenceversion_operator.adapters.kube.client import ApiError
from inferenceversion_operator.adapters.kube.writer import Action, Writer
from inferenceversion_operator.api.labels import API_VERSION, LABEL_NAME
from inferenceversion_operator.core.plan import Event, Object, Plan, Ref, StatusOf
from inferenceversion_operator.core.snapshot import Failure
from inferenceversion_operator.outcome import Stalled

_KIND_OF_REASON = {"BadRequest": "Invalid"}
# Client errors that pass by themselves: the login is renewed, the namespace or kind comes back, others are done.
_PASSING = (401, 404, 408, 409, 425, 429)


async def apply(plan: Plan, writer: Writer) -> Failure | None:
    """Carry a plan out.

    A refused object does not keep the status from being written: the status is where the user reads of it. Nothing
    shrinks then. Traffic is kept as it should be, unless what was refused belongs to the version it leads to: a
    candidate that can't be made takes nothing from the version that serves.

    Returns:
        What the API server refused, if it did: for good, or for now.

    Raises:
        ApiError: a status was refused.
        aiohttp.ClientError, TimeoutError: the server was not reached; the whole plan is tried again.
    """
    failures, created = await _apply_all(plan.capacity, writer)
    await asyncio.gather(*(_status(status, writer) for status in plan.version_statuses))
    if plan.endpoint_status and not (created and _can_wait(plan, writer)):
        await _status(plan.endpoint_status, writer)
    if not _belong_to_stable(failures, plan.traffic):
        failures += (await _apply_all(plan.traffic, writer))[0]
    await asyncio.gather(*(_event(event, writer) for event in plan.events))
    if plan.gateway_lags:  # the route that it takes next brings the endpoint back here
        return failures[0] if failures else None
    if not failures:
        failures, _ = await _apply_all(plan.release, writer)
    if not failures:
        await asyncio.gather(*(writer.delete(r.kind, r.namespace, r.name, r.uid) for r in plan.prune))
    return failures[0] if failures else None


def _can_wait(plan: Plan, writer: Writer) -> bool:
    """Say whether the first status of an endpoint may be left to the next turn, which what was just made brings along.

    Nothing serves yet and nothing relies on it: a second later it tells more, often of ready pods at once.
    """
    ref = plan.endpoint_status.ref if plan.endpoint_status else None
    return (
        ref is not None
        and not plan.traffic
        and not plan.events
        and not writer.has_status(ref.kind, ref.namespace, ref.name)
    )


async def _apply_all(objects: Iterable[Object], writer: Writer) -> tuple[list[Failure], bool]:
    """Apply side by side, every object; return what was refused and whether anything is new."""
    outcomes = await asyncio.gather(*(writer.apply(obj) for obj in objects), return_exceptions=True)
    failures: list[Failure] = []
    for obj, outcome in zip(objects, outcomes, strict=True):
        if not isinstance(outcome, BaseException):
            continue
        refused = _refusal(obj, outcome)
        if refused is None:
            raise outcome
        failures.append(refused)
    return failures, Action.CREATED in outcomes


def _belong_to_stable(failures: Iterable[Failure], traffic: Iterable[Object]) -> bool:
    """Say whether anything of the version that the endpoint's Service selects was refused."""
    names = {obj["spec"]["selector"][LABEL_NAME] for obj in traffic if obj["kind"] == "Service"}
    return any(failure.object_name.startswith(name) for failure in failures for name in names)


def _refusal(obj: Object, error: BaseException) -> Failure | None:
    name = obj["metadata"]["name"]
    if isinstance(error, Stalled):
        return Failure(error.reason, error.message, name, needs_a_person=True)
    if isinstance(error, ApiError):
        message = f"{obj['kind']} {name}: {error.message}"
        for_good = 400 <= error.status < 500 and error.status not in _PASSING
        reason = _KIND_OF_REASON.get(error.reason, error.reason)
        return Failure(reason, message, name, needs_a_person=for_good, retry_after=error.retry_after)
    return None


async def _status(status: StatusOf, writer: Writer) -> None:
    await writer.apply_status(status.ref.kind, status.ref.namespace, status.ref.name, dict(status.status))


async def _event(event: Event, writer: Writer) -> None:
    await writer.event(_reference(event.regarding), event.type, event.reason, event.message)


def _reference(ref: Ref) -> dict[str, str]:
    found = {"apiVersion": API_VERSION, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
    return found | ({"uid": ref.uid} if ref.uid else {})
