"""A look as a whole: what is asked, in which order the gates speak, and that nothing makes them fall over."""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferenceversion_operator.api.crds import structural_schema
from inferenceversion_operator.api.types import Canary, Gate, Slo, Step, Traffic
from inferenceversion_operator.core.gates import asked, metrics
from inferenceversion_operator.core.gates.answers import Sample, Unanswered
from inferenceversion_operator.core.gates.looks import judge, questions
from inferenceversion_operator.core.gates.problems import BUILT_IN, static_problems
from inferenceversion_operator.core.gates.promql import windows_of
from inferenceversion_operator.core.gates.scope import Phase
from inferenceversion_operator.core.gates.verdict import Verdict
from inferenceversion_operator.core.objects.guard import metric_labels
from tests.support.builders import a_version
from tests.unit.core.gates.given import HEALTHY_CANARY, HEALTHY_SHADOW, SINCE, a_scope, say

GOLDEN = Path(__file__).parents[3] / "golden" / "gates"
NOW = SINCE + timedelta(minutes=5)
QUEUE = Gate("queue", 'sum(rate(my_queued_total{inference_name="{{ name }}"}[{{ window }}]))', maximum=5)


@pytest.mark.parametrize("phase", [Phase.SHADOW, Phase.CANARY])
@pytest.mark.parametrize("slo", [Slo(80, 100, 0.001), Slo()], ids=["slo", "no-slo"])
def test_what_is_asked(phase, slo, golden):
    texts = questions(a_scope(phase, slo=slo, gates=(QUEUE,)), NOW)
    page = "\n".join(f"# {key}\n{text}\n" for key, text in texts.items())
    name = f"{phase.lower()}{'' if slo.p95_ms else '-no-slo'}"
    golden(GOLDEN / f"{name}.promql", page)


@pytest.mark.parametrize("phase", [Phase.SHADOW, Phase.CANARY])
def test_every_question_is_answered_for_and_the_other_way_round(phase):
    healthy = HEALTHY_SHADOW if phase is Phase.SHADOW else HEALTHY_CANARY
    slo = Slo(p95_ms=80, p99_ms=100)
    extra = {asked.STABLE_ANSWERS, asked.STABLE_ANSWERS_EARLIER} if phase is Phase.SHADOW else set()
    assert questions(a_scope(phase, slo=slo), NOW).keys() == healthy.keys() | extra


def test_before_the_first_step_there_is_nothing_to_ask():
    scope = a_scope(Phase.STARTING, gates=(QUEUE,))
    assert questions(scope, NOW) == {}
    assert judge(scope, {}) == ()


def test_the_gates_of_a_healthy_release_all_pass_in_a_stable_order():
    canary, shadow = say(a_scope(gates=(QUEUE,)), **{"gate.queue": (Sample(1.0),)}), say(a_scope(Phase.SHADOW))
    assert [*canary] == [
        "requests", "success-rate", "client-errors", "p95", "p99", "p95-vs-stable", "p99-vs-stable", "queue",
    ]  # fmt: skip
    assert [*shadow] == ["requests", "mismatch", "drift-labels", "drift-scores", "success-rate", "p95", "p99"]
    assert {finding.verdict for finding in [*canary.values(), *shadow.values()]} == {Verdict.PASS}


def test_keys_do_not_change_while_a_step_goes_on():
    scope = a_scope(gates=(QUEUE,))
    assert questions(scope, NOW).keys() == questions(scope, NOW + timedelta(days=90)).keys()


WINDOWS = {
    0: (1, 1),
    0.4: (1, 1),
    -50: (1, 1),  # a clock that was put back
    12.9: (12, 12),
    21_600: (21_600, 21_600),
    21_601: (21_600, 21_601),
    10**9: (21_600, 30 * 86_400),
}


@pytest.mark.parametrize(("age", "seconds"), WINDOWS.items())
def test_windows(age, seconds):
    windows = windows_of(SINCE, SINCE + timedelta(seconds=age))
    assert (windows.step.seconds, windows.whole.seconds) == seconds
    assert (windows.earlier.seconds, windows.earlier.ago) == (21_600, seconds[1])


def test_a_user_who_calls_a_gate_like_one_of_ours_still_has_it():
    gates = tuple(Gate(name, "1", maximum=0) for name in ("p95", "p95-2", "x" * 63))
    names = [finding.name for finding in judge(a_scope(gates=gates), {})]
    assert names[-3:] == ["p95-2", "p95-2-2", "x" * 63]
    assert len(set(names)) == len(names)


def test_the_labels_are_those_of_the_guard():
    version = a_version("2.4.1")
    labels = metric_labels(version)
    text = questions(a_scope(), NOW)[asked.TIMES]
    for name in (metrics.NAMESPACE, metrics.NAME):
        assert f'{name}="{labels[name]}"' in text


def test_a_url_can_hold_every_question():
    long = {"namespace": "n" * 63, "endpoint": "e" * 63, "name": "x" * 253}
    for phase in (Phase.SHADOW, Phase.CANARY):
        assert max(map(len, questions(a_scope(phase, **long), NOW).values())) < 5000  # proxies take 8 KiB


def test_what_can_be_said_before_anything_runs():
    gates = (
        Gate("fine", 'x{a="{{ name }}"}', maximum=1),
        Gate("typo", 'x{a="{{ nmae }}"}', maximum=1),
        Gate("p95", "x", maximum=1),
        Gate("narrow", "x", maximum=1, minimum=2),
    )
    version = a_version(traffic=Traffic(gates=gates, canary=Canary((Step(10),), max_latency_ratio=0.9)))
    assert [str(problem).partition(":")[0] for problem in static_problems(version)] == [
        "spec.traffic.gates[1].promql",
        "spec.traffic.gates[2].name",
        "spec.traffic.gates[3]",
        "spec.traffic.canary.maxLatencyRatio",
    ]
    assert static_problems(a_version()) == ()


def test_every_gate_of_ours_is_known_by_name():
    everything = say(a_scope()) | say(a_scope(Phase.SHADOW))
    assert everything.keys() == BUILT_IN


NUMBERS = st.one_of(
    st.floats(),
    st.integers(0, 2000).map(float),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1.0, 0.0, 1e13]),
)
WORDS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["ended", "refused", "compared", "mismatched", "sources", "age", "scrapes", "seconds", "+Inf", "80.0"]
    ),
    st.sampled_from(
        ["stable", "candidate", "LABEL", "SCORES", "2", "5", "13", "inference_http", "inference_grpc", "0.5"]
    ),
)
NAMES = st.one_of(
    st.sampled_from(["of", "le", "side", "output", "label", "grpc_status", "envoy_response_code_class"]),
    st.sampled_from(["envoy_http_conn_manager_prefix", "stable_label", "candidate_label"]),
    st.text(max_size=5),
)
SAMPLES = st.builds(Sample, NUMBERS, st.dictionaries(NAMES, WORDS, max_size=4))
ANSWERS = st.one_of(
    st.lists(SAMPLES, max_size=12).map(tuple),
    st.builds(Unanswered, st.text(max_size=200), st.text(max_size=6000)),
    st.none(),
)
SCOPES = [
    a_scope(phase, slo=slo, gates=(QUEUE, Gate("p95", "{{ x }}", minimum=0)), pods=pods)
    for phase in (Phase.SHADOW, Phase.CANARY)
    for slo in (Slo(80, 100, 0.001), Slo(), Slo(error_rate=0.0))
    for pods in (None, 3)
]
KEYS = sorted({key for scope in SCOPES for key in questions(scope, NOW)})


@given(st.sampled_from(SCOPES), st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_whatever_prometheus_answers_every_gate_says_something_that_status_can_hold(scope, data):
    healthy = HEALTHY_SHADOW if scope.phase is Phase.SHADOW else HEALTHY_CANARY
    chosen = data.draw(st.sets(st.sampled_from(KEYS), min_size=1, max_size=4))
    answers = dict(healthy)
    for key in chosen:
        answers[key] = data.draw(ANSWERS)
    findings = judge(scope, {key: answer for key, answer in answers.items() if answer is not None})
    assert len(findings) == len({finding.name for finding in findings}) <= 64
    for finding in findings:
        assert_fits(finding)


def assert_fits(finding):
    limits = structural_schema("InferenceEndpoint")["properties"]["status"]["properties"]["candidate"]["properties"]
    fields = limits["gates"]["items"]["properties"]
    for name in ("name", "reason", "message", "value", "bound"):
        text = getattr(finding, name)
        assert text is None or len(text) <= fields[name]["maxLength"], name
    assert finding.reason
    assert finding.value is None or math.isfinite(float(finding.value))


def test_missing_answers_hold_every_gate():
    for scope in SCOPES:
        assert {finding.verdict for finding in judge(scope, {})} == {Verdict.INCONCLUSIVE}


def test_time_zones_do_not_matter():
    elsewhere = NOW.astimezone(datetime.now(UTC).astimezone().tzinfo)
    assert questions(a_scope(), elsewhere) == questions(a_scope(), NOW)
