"""How a version takes over, in words: what its traffic.strategy asks for, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any

from inferenceversion_operator.api.parse import parse_version
from inferenceversion_operator.api.types import InferenceVersion, Shadow, Step, Strategy
from inferenceversion_operator.cli.views.age import span
from inferenceversion_operator.core.rollout.choose import served_before

Object = Mapping[str, Any]


def steps_of(version: InferenceVersion) -> tuple[str, ...]:
    """Return the steps of a release in their order, the last one being all requests."""
    traffic, steps = version.traffic, list[str]()
    if traffic.strategy in (Strategy.SHADOW, Strategy.SHADOW_THEN_CANARY):
        steps.append(_shadow(traffic.shadow))
    if traffic.strategy in (Strategy.CANARY, Strategy.SHADOW_THEN_CANARY):
        steps += [_step(step) for step in traffic.canary.steps]
    return (*steps, "100 %")


def served(version: Object, endpoint: Object) -> bool:
    """Say whether this very snapshot was stable before, by the endpoint's history."""
    history = (endpoint.get("status") or {}).get("history") or ()
    try:
        return served_before(history, parse_version(version))
    except (KeyError, TypeError, ValueError):  # an older or newer schema let it in
        return False


def at_once(version: InferenceVersion, history: Sequence[Object], stable: str | None) -> str | None:
    """Return why the version goes through no steps; None where it does."""
    if stable is None:
        return "the first version of an endpoint takes over at once"
    if served_before(history, version):
        return "it was stable before, so it takes over at once"
    if version.traffic.strategy is Strategy.IMMEDIATE:
        return "traffic.strategy Immediate: all at once, when it is Ready"
    return None


def how_released(version: Object) -> str:
    """Return the strategy of a new version in a sentence."""
    try:
        read = parse_version(version)
    except (KeyError, TypeError, ValueError):
        return "by its traffic.strategy"
    return f"by traffic.strategy {read.traffic.strategy}: {' -> '.join(steps_of(read))}"


def _shadow(shadow: Shadow) -> str:
    return f"shadow of {shadow.percent} % ({span(shadow.min_duration_s)}, {shadow.min_requests} requests at least)"


def _step(step: Step) -> str:
    needs = f"{span(step.min_duration_s)}, {step.min_requests} requests at least"
    return f"{step.weight} % ({needs}{', approval' if step.approval else ''})"
