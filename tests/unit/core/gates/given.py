"""Answers of Prometheus in short, for tables of what the gates say to them."""

from datetime import UTC, datetime

from inferenceversion_operator.api.types import Canary, Shadow, Slo, Step, Traffic
from inferenceversion_operator.core.gates import asked
from inferenceversion_operator.core.gates.answers import Sample, Unanswered
from inferenceversion_operator.core.gates.looks import judge
from inferenceversion_operator.core.gates.scope import Phase, Scope
from tests.support.builders import a_version

SINCE = datetime(2026, 11, 30, 12, tzinfo=UTC)
SLO = Slo(p95_ms=80, p99_ms=100, error_rate=0.001)
DOWN = Unanswered("Unreachable", "no connection to http://prometheus:9090: Connection refused")


def a_scope(phase=Phase.CANARY, *, slo=SLO, ratio=1.5, gates=(), pods=None, outputs=None, min_requests=100, **changes):
    """Return a step of a canary, or the shadow; ``outputs`` are those of stable's contract."""
    canary = Canary(steps=(Step(10),), max_latency_ratio=ratio)
    traffic = Traffic(shadow=changes.pop("shadow", Shadow()), canary=canary, gates=gates)
    status = {} if pods is None else {"readyReplicas": pods}
    candidate = a_version("2.4.1", slo=slo, traffic=traffic, status=status, **changes)
    stable = a_version("2.4.0", **({} if outputs is None else {"outputs": outputs}))
    return Scope(candidate, stable, phase, SINCE, min_requests)


def one(value, **labels):
    return (Sample(value, labels),)


def scraped(sources=1, age=1.0, scrapes=20, seconds=300):
    numbers = {"sources": sources, "age": age, "scrapes": scrapes, "seconds": seconds}
    return tuple(Sample(value, {"of": name}) for name, value in numbers.items() if value is not None)


def ended(ok=0, *, refused=0, failed=0, grpc=None, broken=None, no_memory=0):
    """Return how requests ended: HTTP by class, gRPC by status, and what broke off by door."""
    http = {"envoy_http_conn_manager_prefix": "inference_http"}
    classes = {"2": ok, "3": 0, "4": refused, "5": failed}
    samples = [Sample(count, {"of": "ended", "envoy_response_code_class": c} | http) for c, count in classes.items()]
    samples += [Sample(count, {"of": "ended", "grpc_status": code}) for code, count in (grpc or {}).items()]
    samples += [
        Sample(count, {"of": "ended", "envoy_http_conn_manager_prefix": door}) for door, count in (broken or {}).items()
    ]
    # HTTP says of every gRPC call that all is well.
    all_of_grpc = sum((grpc or {}).values())
    door = {"of": "ended", "envoy_http_conn_manager_prefix": "inference_grpc", "envoy_response_code_class": "2"}
    return (*samples, Sample(all_of_grpc, door), Sample(no_memory, {"of": "refused"}))


def took(**counts):
    """Return a histogram: ``ms40=300, ms150=12, over=1`` took up to 40, up to 150 ms, and more than all bounds."""
    over = counts.pop("over", 0)
    given = {float(name.removeprefix("ms").replace("_", ".")): count for name, count in counts.items()}
    bounds = sorted({*given, 10.0, 20.0, 30.0, 40.0, 50.0, 80.0, 100.0, 120.0, 150.0, 200.0, 400.0})
    samples, total = [], 0
    for bound in bounds:
        total += given.get(bound, 0)
        samples.append(Sample(float(total), {"le": str(bound)}))
    return (*samples, Sample(float(total + over), {"le": "+Inf"}))


def pairs(compared, mismatched):
    return (Sample(compared, {"of": "compared"}), Sample(mismatched, {"of": "mismatched"}))


def values(output="LABEL", **sides):
    """Return counts of labels: ``stable={"positive": 70}, candidate={...}``."""
    return tuple(
        Sample(count, {"output": output, "side": side, "label": label})
        for side, counts in sides.items()
        for label, count in counts.items()
    )


def scores(output="SCORES", **sides):
    """Return cumulative counts up to 0.1, 0.2 ... 1 out of the counts of each tenth."""
    samples = []
    for side, counts in sides.items():
        total = 0
        for tenth, count in enumerate(counts, 1):
            total += count
            samples.append(Sample(total, {"output": output, "side": side, "le": str(tenth / 10)}))
        samples.append(Sample(total, {"output": output, "side": side, "le": "+Inf"}))
    return tuple(samples)


HEALTHY_CANARY = {
    asked.SCRAPED: scraped(),
    asked.REQUESTS: one(1000),
    asked.ANSWERS: ended(1000),
    asked.TIMES: took(ms40=1000),
    asked.STABLE_ANSWERS: ended(9000),
    asked.STABLE_ANSWERS_EARLIER: ended(90_000),
    asked.STABLE_TIMES: took(ms40=9000),
    asked.STABLE_TIMES_EARLIER: took(ms40=90_000),
}
HEALTHY_SHADOW = {
    asked.DIFFER_SCRAPED: scraped(),
    asked.COMPARED: one(1000),
    asked.MISMATCHES: pairs(1000, 0),
    asked.NOISE: pairs(100, 0),
    asked.FAILED: (),
    asked.FLIPS: (),
    f"{asked.LABELS}.0": values(
        stable={"positive": 700, "negative": 300}, candidate={"positive": 700, "negative": 300}
    ),
    f"{asked.SCORES}.0": scores(stable=[300] * 10, candidate=[300] * 10),
    asked.SCRAPED: scraped(),
    asked.ANSWERS: ended(1000),
    asked.TIMES: took(ms40=1000),
}


def say(scope, **changes):
    """Return what the gates say to healthy answers with changes; ``None`` takes one away. By name."""
    healthy = HEALTHY_SHADOW if scope.phase is Phase.SHADOW else HEALTHY_CANARY
    answers = healthy | {getattr(asked, key.upper(), key): answer for key, answer in changes.items()}
    answers = {key: answer for key, answer in answers.items() if answer is not None}
    return {finding.name: finding for finding in judge(scope, answers)}
