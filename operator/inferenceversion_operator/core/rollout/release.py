"""What a decision says about the release of an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.rollout.attempt import Attempt
from inferenceversion_operator.outcome import Stalled


class Outcome(StrEnum):
    """How a release ended."""

    PROMOTED = "Promoted"
    FAILED = "Failed"
    ABORTED = "Aborted"
    SUPERSEDED = "Superseded"


@dataclass(frozen=True, slots=True)
class Ended:
    """A release that ended in this decision.

    Attributes:
        attempt: where it was; None where it is known by the version's own status alone.
        reason: CamelCase, for programs.
        message: for people.
        by: who asked for it, as they say.
    """

    version: InferenceVersion
    outcome: Outcome
    reason: str
    message: str
    attempt: Attempt | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Where a release stands after this decision.

    Attributes:
        stable: what serves all requests but the candidate's share.
        attempt: the release under way.
        entered: a phase or step that was entered just now.
        ended: what ended just now, the last one first.
        waits_for: what the attempt waits for, in a sentence.
        stalled: what a person has to do, or to wait for longer than is usual.
        held: the version that is wanted and can't be released.
        observed_action: the annotation that was looked at, whatever came of it.
        questions: what the gates want to know now, by key.
        asked_for: what the answers will be about.
    """

    stable: InferenceVersion | None
    attempt: Attempt | None = None
    entered: bool = False
    ended: tuple[Ended, ...] = ()
    waits_for: str = ""
    stalled: Stalled | None = None
    held: InferenceVersion | None = None
    observed_action: str | None = None
    recheck_at: datetime | None = None
    questions: Mapping[str, str] = field(default_factory=dict)
    asked_for: str = ""

    @property
    def candidate(self) -> InferenceVersion | None:
        return self.attempt.candidate if self.attempt else None

    @property
    def promoted(self) -> Ended | None:
        """The version that became stable just now."""
        return next((end for end in self.ended if end.outcome is Outcome.PROMOTED), None)

    @property
    def given_up(self) -> Ended | None:
        """The version that was given up just now."""
        return next((end for end in self.ended if end.outcome in (Outcome.FAILED, Outcome.ABORTED)), None)

    def weights(self) -> tuple[tuple[InferenceVersion, int], ...]:
        """Return who gets which share of live requests, in percent; they add up to 100. Empty while nothing serves."""
        if self.stable is None:
            return ()
        share = self.attempt.weight if self.attempt else 0
        if self.attempt is None or share == 0:
            return ((self.stable, 100),)
        return ((self.stable, 100 - share), (self.attempt.candidate, share))
