"""Gates that say what a story wants; what gates make of numbers is tested in tests/unit/core/gates."""

import pytest

from inferenceversion_operator.core.gates.answers import Sample, Unanswered
from inferenceversion_operator.core.gates.verdict import Finding, Verdict
from inferenceversion_operator.core.rollout import progress

PASS, UNCLEAR, FAIL = 1.0, 0.0, -1.0
_VERDICTS = {PASS: Verdict.PASS, UNCLEAR: Verdict.INCONCLUSIVE, FAIL: Verdict.FAIL}


def says(**gates):
    """Return answers of Prometheus that make these gates say so."""
    return {name: (Sample(verdict),) for name, verdict in gates.items()}


@pytest.fixture(autouse=True)
def two_gates(monkeypatch):
    """Let every look be about two gates; no answer is Inconclusive."""

    def judge(scope, answers):
        for name in ("latency", "errors"):
            answer = answers.get(name, ())
            known = not isinstance(answer, Unanswered) and answer
            verdict = _VERDICTS[answer[0].value] if known else Verdict.INCONCLUSIVE
            yield Finding(name, verdict, verdict.value, f"{name} says {verdict.value}", "1", "<= 2")

    monkeypatch.setattr(progress, "judge", lambda scope, answers: tuple(judge(scope, answers)))
    monkeypatch.setattr(progress, "questions", lambda scope, now: {"latency": "a", "errors": "b"})
    monkeypatch.setattr("inferenceversion_operator.core.wanted.make_differ", _differ)


def _differ(endpoint, stable, candidate, settings):
    from inferenceversion_operator.api.names import differ_name
    from inferenceversion_operator.core.objects.common import endpoint_metadata

    metadata = endpoint_metadata(endpoint, differ_name(endpoint.name))
    return [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}}]
