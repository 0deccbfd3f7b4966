"""What a gate says: Pass, Fail or Inconclusive, with its value and bound."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    PASS = "Pass"  # noqa: S105 - not a password
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"  # hold: too little is known


@dataclass(frozen=True, slots=True)
class Finding:
    """One gate, looked at once.

    Attributes:
        name: of the gate, unique within a look: requests, success-rate, p95, mismatch, or the user's own.
        reason: CamelCase, for programs.
        message: one sentence a person can act on, with numbers and units.
        value: what was seen, as a decimal number; None where nothing was.
        bound: what it is held against, such as "<= 80".
    """

    name: str
    verdict: Verdict
    reason: str
    message: str
    value: str | None = None
    bound: str | None = None
