"""What a look at the gates is about."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from inferenceversion_operator.api.types import InferenceVersion


class Phase(StrEnum):
    """Where the release of a candidate is."""

    STARTING = "Starting"  # its pods get ready
    SHADOW = "Shadow"  # copies of live requests, answers compared
    CANARY = "Canary"  # a share of live requests


@dataclass(frozen=True, slots=True)
class Scope:
    """The candidate, what it is compared with, and since when samples count.

    Attributes:
        candidate: its status tells how many of its pods are ready, all of which have to be scraped.
        stable: its contract is what answers are compared by.
        since: when the step began; what came before does not count.
        min_requests: answered (Shadow: compared) since then.
    """

    candidate: InferenceVersion
    stable: InferenceVersion
    phase: Phase
    since: datetime
    min_requests: int
