"""Plan -> calls on the writer, in the order that is safe: capacity, status, traffic, and only then what shrinks."""

import asyncio
from collections.abc import Iterable

from inferenceversion_operator.adapters.kube.client import ApiError
from inferenceversion_operator.adapters.kube.writer import Writer
from inferenceversion_operator.api.labels import API_VERSION
from inferenceversion_operator.core.plan import Event, Object, Plan, Ref, StatusOf
from inferenceversion_operator.core.snapshot import Failure
from inferenceversion_operator.outcome import Stalled

_KIND_OF_REASON = {"Forbidden": "Forbidden", "Invalid": "Invalid", "BadRequest": "Invalid"}


async def apply(plan: Plan, writer: Writer) -> Failure | None:
    """Carry a plan out.

    A refused object does not keep the status from being written: the status is where the user reads of it. Traffic
    stays where it was, and nothing shrinks.

    Returns:
        What the API server refused for good, if it did.

    Raises:
        ApiError, aiohttp.ClientError, TimeoutError: transient; the whole plan is tried again.
    """
    failure = await _apply_all(plan.capacity, writer)
    await asyncio.gather(*(_status(status, writer) for status in plan.version_statuses))
    if plan.endpoint_status:
        await _status(plan.endpoint_status, writer)
    if failure is None:
        failure = await _apply_all(plan.traffic, writer)
    await asyncio.gather(*(_event(event, writer) for event in plan.events))
    if failure is None:
        failure = await _apply_all(plan.release, writer)
    if failure is None:
        await asyncio.gather(*(writer.delete(r.kind, r.namespace, r.name, r.uid) for r in plan.prune))
    return failure


async def _apply_all(objects: Iterable[Object], writer: Writer) -> Failure | None:
    """Apply side by side; every object is tried, the first refusal is returned."""
    outcomes = await asyncio.gather(*(writer.apply(obj) for obj in objects), return_exceptions=True)
    failure: Failure | None = None
    for obj, outcome in zip(objects, outcomes, strict=True):
        if not isinstance(outcome, BaseException):
            continue
        refused = _refusal(obj, outcome)
        if refused is None:
            raise outcome
        failure = failure or refused
    return failure


def _refusal(obj: Object, error: BaseException) -> Failure | None:
    name = obj["metadata"]["name"]
    if isinstance(error, Stalled):
        return Failure(error.reason, error.message, name, needs_a_person=True)
    if isinstance(error, ApiError) and error.reason in _KIND_OF_REASON:
        message = f"{obj['kind']} {name}: {error.message}"
        return Failure(_KIND_OF_REASON[error.reason], message, name, needs_a_person=True)
    return None


async def _status(status: StatusOf, writer: Writer) -> None:
    await writer.apply_status(status.ref.kind, status.ref.namespace, status.ref.name, dict(status.status))


async def _event(event: Event, writer: Writer) -> None:
    await writer.event(_reference(event.regarding), event.type, event.reason, event.message)


def _reference(ref: Ref) -> dict[str, str]:
    found = {"apiVersion": API_VERSION, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
    return found | ({"uid": ref.uid} if ref.uid else {})
