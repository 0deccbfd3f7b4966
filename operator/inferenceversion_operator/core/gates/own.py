"""The user's own gates: one query, one number, held against its bounds as it is."""

import math
from collections.abc import Mapping

from inferenceversion_operator.api.types import Gate
from inferenceversion_operator.core.gates.answers import Answers, Sample, Unanswered
from inferenceversion_operator.core.gates.findings import BEYOND, WITHIN, finding, unanswered
from inferenceversion_operator.core.gates.placeholders import NAMES, filled, unknown_in
from inferenceversion_operator.core.gates.promql import Windows
from inferenceversion_operator.core.gates.reading import NO_DATA, NOT_A_NUMBER, samples_of
from inferenceversion_operator.core.gates.scope import Scope
from inferenceversion_operator.core.gates.text import decimal
from inferenceversion_operator.core.gates.verdict import Finding, Verdict

BAD_QUERY = "BadQuery"

_LABELS_SHOWN = 200  # characters


def key_of(gate: Gate) -> str:
    return f"gate.{gate.name}"


def question(gate: Gate, scope: Scope, windows: Windows) -> str:
    """Return the query; a placeholder that there is not stays in it, so that Prometheus refuses it at once."""
    return filled(gate.promql, scope, windows)


def problem_of(promql: str) -> str | None:
    """Return what is wrong with a query, as far as can be told without a Prometheus."""
    unknown = unknown_in(promql)
    if not unknown:
        return None
    known = ", ".join(f"{{{{ {name} }}}}" for name in NAMES)
    return f"promql has the placeholder {{{{ {unknown[0]} }}}}, which there is not: known are {known}"


def within_bounds(name: str, gate: Gate, answers: Answers) -> Finding:
    """Judge the gate; ``name`` is that of the finding."""
    problem = problem_of(gate.promql)
    if problem:
        return unanswered(name, Unanswered(BAD_QUERY, problem))
    samples = samples_of(answers, key_of(gate))
    number = samples if isinstance(samples, Unanswered) else _one_number(samples)
    if isinstance(number, Unanswered):
        return unanswered(name, number)
    value, bound = decimal(number), _bound(gate)
    held = (gate.maximum is None or number <= gate.maximum) and (gate.minimum is None or number >= gate.minimum)
    if held:
        return finding(name, Verdict.PASS, WITHIN, f"its query answers {value}, bound {bound}", value, bound)
    told = f"its query answers {value}, and the bound is {bound} (traffic.gates)"
    return finding(name, Verdict.FAIL, BEYOND, told, value, bound)


def _bound(gate: Gate) -> str:
    bounds = [(">=", gate.minimum), ("<=", gate.maximum)]
    return ", ".join(f"{sign} {decimal(limit)}" for sign, limit in bounds if limit is not None)


def _one_number(samples: tuple[Sample, ...]) -> float | Unanswered:
    if not samples:
        return Unanswered(
            NO_DATA,
            "its query answers nothing: no such series, no requests yet, or a comparison in it that is false "
            "(leave that to max and min)",
        )
    if len(samples) > 1:
        example = _cut(_labels(samples[0].labels))
        return Unanswered(
            "SeveralSeries",
            f"its query answers {len(samples)} series, such as {example}, and a gate is one number: wrap it in sum(), "
            "max() or min()",
        )
    value = samples[0].value
    if not math.isfinite(value):
        return Unanswered(
            NOT_A_NUMBER, f"its query answers {value:g}, which is no number: most likely it divides by zero requests"
        )
    return value


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "}"


def _cut(text: str) -> str:
    return text if len(text) <= _LABELS_SHOWN else text[: _LABELS_SHOWN - 1] + "…"
