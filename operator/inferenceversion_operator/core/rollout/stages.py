"""A strategy is a list of stages: what a version goes through before it is stable."""

from dataclasses import dataclass

from inferenceversion_operator.api.types import Approval, InferenceVersion, Strategy
from inferenceversion_operator.core.gates.scope import Phase


@dataclass(frozen=True, slots=True)
class Stage:
    """The shadow, or one step of the canary.

    Attributes:
        step: index of the canary step, from 0; None for the shadow.
        weight: share of live requests in percent.
    """

    phase: Phase
    weight: int
    min_duration_s: float
    min_requests: int
    step: int | None = None
    approval: Approval | None = None


def stages_of(version: InferenceVersion) -> tuple[Stage, ...]:
    """Return the stages of a version's strategy, in their order; Immediate has none."""
    traffic = version.traffic
    shadow = Stage(Phase.SHADOW, 0, traffic.shadow.min_duration_s, traffic.shadow.min_requests)
    steps = tuple(
        Stage(Phase.CANARY, step.weight, step.min_duration_s, step.min_requests, number, step.approval)
        for number, step in enumerate(traffic.canary.steps)
    )
    match traffic.strategy:
        case Strategy.SHADOW:
            return (shadow,)
        case Strategy.CANARY:
            return steps
        case Strategy.SHADOW_THEN_CANARY:
            return (shadow, *steps)
        case _:
            return ()


def place_of(stages: tuple[Stage, ...], phase: Phase, step: int | None) -> int | None:
    """Return where a release is in its stages; None before the first.

    ``traffic`` may change under a release: what is no longer there counts as the nearest stage that is.
    """
    if phase is Phase.STARTING or not stages:
        return None
    for place, stage in enumerate(stages):
        if stage.phase is phase and stage.step == step:
            return place
    if phase is Phase.SHADOW:
        return 0
    return max(place for place, _ in enumerate(stages))
