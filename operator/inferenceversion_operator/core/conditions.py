"""The only place that writes conditions; they follow kstatus and the Kubernetes API conventions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

# Abnormal-true, as kstatus wants them: present while true, absent otherwise.
_ABNORMAL = ("Reconciling", "Stalled", "Failed", "Broken")
_REASON_LIMIT = 128  # by the CRD; what others tell may be longer
_MESSAGE_LIMIT = 2048


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: str  # True, False or Unknown
    reason: str
    message: str


def timestamp(moment: datetime) -> str:
    """Return RFC 3339 in UTC with whole seconds, as ``metav1.Time`` does."""
    # strftime would write the year 1 as "1".
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def parse_timestamp(text: str) -> datetime:
    """Return the moment that a ``metav1.Time`` or ``metav1.MicroTime`` names.

    Raises:
        ValueError: it names none.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def merge(
    before: Iterable[Mapping[str, Any]], wanted: Iterable[Condition], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """Return the list of conditions to store: the transition time moves only with the status.

    Args:
        before: the conditions in the object's status now.
        wanted: what holds now, in the order to show; abnormal-true ones that are not True are left out.
        generation: the object's ``metadata.generation`` that was looked at.
    """
    old = {condition["type"]: condition for condition in before}
    merged = []
    for condition in wanted:
        if condition.type in _ABNORMAL and condition.status != "True":
            continue
        earlier = old.get(condition.type)
        same = earlier is not None and earlier["status"] == condition.status
        merged.append(
            {
                "type": condition.type,
                "status": condition.status,
                "reason": storable(condition.reason)[:_REASON_LIMIT],
                "message": storable(condition.message)[:_MESSAGE_LIMIT],
                "lastTransitionTime": earlier["lastTransitionTime"] if earlier and same else timestamp(now),
                "observedGeneration": generation,
            }
        )
    return merged


def storable(text: str) -> str:
    """Return the text as the API server keeps it: half of a surrogate pair, which JSON can hold, is no character."""
    return text.encode("utf-8", "replace").decode()


def find(conditions: Iterable[Mapping[str, Any]] | None, kind: str) -> Mapping[str, Any] | None:
    """Return the condition of this type from any Kubernetes object's list."""
    for condition in conditions or ():
        if condition.get("type") == kind:
            return condition
    return None
