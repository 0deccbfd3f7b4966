"""What can be said of a version's gates before anything runs."""

from inferenceversion_operator.api.problem import Problem
from inferenceversion_operator.api.types import Gate, InferenceVersion
from inferenceversion_operator.core.gates import drift, latency, mismatch, own, requests, success

BUILT_IN = frozenset(
    {
        requests.NAME,
        mismatch.NAME,
        drift.LABELS,
        drift.SCORES,
        success.SUCCESS_RATE,
        success.CLIENT_ERRORS,
        *(name for quantile in latency.QUANTILES for name in (quantile.name, quantile.beside_stable)),
    }
)


def static_problems(version: InferenceVersion) -> tuple[Problem, ...]:
    """Return what is wrong with the version's gates, as far as can be told without a Prometheus."""
    problems = [_problem_of(index, gate) for index, gate in enumerate(version.traffic.gates)]
    ratio = version.traffic.canary.max_latency_ratio
    if version.traffic.canary.steps and ratio < 1:
        told = f"{ratio:g} asks the candidate to be faster than stable: 1.5 lets it be half as slow again"
        problems.append(Problem("spec.traffic.canary.maxLatencyRatio", told))
    return tuple(problem for problem in problems if problem)


def _problem_of(index: int, gate: Gate) -> Problem | None:
    field = f"spec.traffic.gates[{index}]"
    told = own.problem_of(gate.promql)
    if told:
        return Problem(f"{field}.promql", told)
    if gate.name in BUILT_IN:
        return Problem(f"{field}.name", f"{gate.name} is a gate of the operator's own: choose another name")
    if gate.maximum is not None and gate.minimum is not None and gate.minimum > gate.maximum:
        return Problem(field, f"min {gate.minimum:g} is above max {gate.maximum:g}: no number is within both")
    return None
