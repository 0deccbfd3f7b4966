"""What Prometheus said to the questions of the gates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Sample:
    """One element of an instant vector; ``value`` may be NaN or infinite."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is no answer: Prometheus is down, slow, or does not understand the query.

    Attributes:
        reason: CamelCase, for programs: Unreachable, Timeout, BadQuery, HttpError, NotConfigured, NotAVector.
        message: for people; names what to look at.
    """

    reason: str
    message: str


Answer = tuple[Sample, ...] | Unanswered
Answers = Mapping[str, Answer]  # by the key of the question


@dataclass(frozen=True, slots=True)
class Measured:
    """The answers to one look at the gates.

    Attributes:
        asked_for: the attempt, phase and step that the questions were about.
        at: when they were asked.
        answers: by the key of the question.
    """

    asked_for: str
    at: datetime
    answers: Mapping[str, Answer]
