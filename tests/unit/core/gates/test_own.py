"""The user's gates: any PromQL, one number, the bounds as they are."""

import math

import pytest

from inferenceversion_operator.api.types import Gate
from inferenceversion_operator.core.gates.answers import Sample, Unanswered
from inferenceversion_operator.core.gates.looks import questions
from inferenceversion_operator.core.gates.scope import Phase
from tests.unit.core.gates.given import DOWN, SINCE, a_scope, one, say

AT_MOST = Gate("depth", "sum(queue_depth)", maximum=5)
AT_LEAST = Gate("depth", "sum(queue_depth)", minimum=-1.5)
WITHIN = Gate("depth", "sum(queue_depth)", maximum=5, minimum=1)
SEVERAL = (Sample(1.0, {"pod": "a", "job": "x"}), Sample(1.0, {"pod": "b", "job": "x"}))

TABLE = {
    "below": (AT_MOST, one(4.9), "Pass", "WithinBound"),
    "at the bound": (AT_MOST, one(5), "Pass", "WithinBound"),
    "above": (AT_MOST, one(5.1), "Fail", "BoundExceeded"),
    "far below": (AT_MOST, one(-1e300), "Pass", "WithinBound"),
    "at least, held": (AT_LEAST, one(-1.5), "Pass", "WithinBound"),
    "at least, broken": (AT_LEAST, one(-2), "Fail", "BoundExceeded"),
    "both, held": (WITHIN, one(3, pod="a"), "Pass", "WithinBound"),
    "both, below": (WITHIN, one(0), "Fail", "BoundExceeded"),
    "both, above": (WITHIN, one(6), "Fail", "BoundExceeded"),
    "neither": (Gate("depth", "x"), one(6), "Pass", "WithinBound"),
    "NaN": (AT_MOST, one(math.nan), "Inconclusive", "NotANumber"),
    "infinite": (AT_MOST, one(math.inf), "Inconclusive", "NotANumber"),
    "infinitely small": (AT_MOST, one(-math.inf), "Inconclusive", "NotANumber"),
    "nothing": (AT_MOST, (), "Inconclusive", "NoData"),
    "several series": (AT_MOST, SEVERAL, "Inconclusive", "SeveralSeries"),
    "Prometheus is down": (AT_MOST, DOWN, "Inconclusive", "Unreachable"),
    "no PromQL": (AT_MOST, Unanswered("BadQuery", "Prometheus says: parse error"), "Inconclusive", "BadQuery"),
    "a matrix": (AT_MOST, Unanswered("NotAVector", "the query gives a matrix"), "Inconclusive", "NotAVector"),
    "too slow": (AT_MOST, Unanswered("Timeout", "no answer within 5 s"), "Inconclusive", "Timeout"),
    "no Prometheus": (AT_MOST, Unanswered("NotConfigured", "no Prometheus"), "Inconclusive", "NotConfigured"),
    "refused": (AT_MOST, Unanswered("HttpError", "answers 503"), "Inconclusive", "HttpError"),
    "without a reason": (AT_MOST, Unanswered("", ""), "Inconclusive", "Unknown"),
    "not asked": (AT_MOST, None, "Inconclusive", "NotAsked"),
    "an unknown placeholder": (Gate("depth", 'x{a="{{ nmae }}"}', maximum=5), one(1), "Inconclusive", "BadQuery"),
}


@pytest.mark.parametrize(("gate", "answer", "verdict", "reason"), TABLE.values(), ids=TABLE)
@pytest.mark.parametrize("phase", [Phase.SHADOW, Phase.CANARY])
def test_own_gates(gate, answer, verdict, reason, phase):
    found = say(a_scope(phase, gates=(gate,)), **{"gate.depth": answer})["depth"]
    assert (found.verdict.value, found.reason) == (verdict, reason)


def test_the_messages():
    def message(gate, answer):
        return say(a_scope(gates=(gate,)), **{"gate.depth": answer})["depth"].message

    assert message(WITHIN, one(0.123456789012)) == (
        "its query answers 0.123456789, and the bound is >= 1, <= 5 (traffic.gates)"
    )
    assert message(AT_MOST, SEVERAL) == (
        'its query answers 2 series, such as {job="x", pod="a"}, and a gate is one number: wrap it in sum(), max() or min()'
    )
    assert message(AT_MOST, one(math.nan)) == (
        "its query answers nan, which is no number: most likely it divides by zero requests"
    )
    unknown = message(Gate("depth", "{{ nmae }}", maximum=1), one(1))
    assert unknown.startswith("promql has the placeholder {{ nmae }}, which there is not: known are {{ namespace }}, ")


PLACEHOLDERS = {
    'x{inference_name="{{ name }}"}': 'x{inference_name="sentiment-2-4-1-16c9270d"}',
    'x{inference_name="{{stableName}}"}': 'x{inference_name="sentiment-2-4-0-94687a8a"}',
    'sum(rate(x{n="{{ namespace }}"}[{{ window }}]))': 'sum(rate(x{n="news"}[300s]))',
    'x{e="{{ endpoint }}",v=~"{{  version  }}|{{ stableVersion }}"}': 'x{e="sentiment",v=~"2.4.1|2.4.0"}',
    "no placeholder at all": "no placeholder at all",
    'x{a="{{ nmae }}"}': 'x{a="{{ nmae }}"}',  # Prometheus sees it as it is
    "{{{ name }}}": "{sentiment-2-4-1-16c9270d}",
    "{{}} {{ a b }} {{ name": "{{}} {{ a b }} {{ name",
}


@pytest.mark.parametrize(("promql", "filled"), PLACEHOLDERS.items())
def test_placeholders(promql, filled):
    scope = a_scope(gates=(Gate("g", promql, maximum=1),))
    assert questions(scope, SINCE.replace(minute=5))["gate.g"] == filled


def test_a_value_can_not_leave_its_string():
    scope = a_scope(gates=(Gate("g", 'x{v="{{ version }}"}', maximum=1),), endpoint='a"} or vector(0) #')
    odd = a_scope(gates=(Gate("g", 'x{e="{{ endpoint }}"}', maximum=1),), endpoint='a"} or \\vector(0)\n')
    assert questions(scope, SINCE)["gate.g"] == 'x{v="2.4.1"}'
    assert questions(odd, SINCE)["gate.g"] == 'x{e="a\\"} or \\\\vector(0) "}'
