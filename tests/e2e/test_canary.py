"""A version gets a growing share of live requests, and its gates decide: on real Triton, Envoy and Prometheus."""

import time
from collections.abc import Iterator

import pytest

from tests.support.cluster import fresh_operator, kill_operator
from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.cluster_servers import FileServer, start_file_server
from tests.support.load import Load, ask, failed, versions_of
from tests.support.releases import (
    LAX_SLO,
    canary,
    gates_of,
    go_back,
    good,
    history_of,
    serve,
    status_of,
    wait_outcome,
    wait_step,
)
from tests.support.wait import wait_until

GOOD, NEXT = "2.4.0", "2.4.1"


@pytest.fixture(scope="module")
def served(ns: Namespace, image: str) -> Namespace:
    return serve(ns, image, GOOD)


@pytest.fixture(scope="module")
def files(served: Namespace, operator_image: str) -> FileServer:
    return start_file_server(served, operator_image)


@pytest.fixture
def load(served: Namespace) -> Iterator[Load]:
    with Load(served.target(), rate=25, timeout=40) as load:
        yield load


@pytest.fixture(autouse=True)
def only_the_good_one(served: Namespace) -> Iterator[None]:
    """Leave each story with the good version as the stable one and nothing else."""
    yield
    go_back(served, GOOD)


def test_a_good_version_goes_through_its_steps_to_all_requests(served, image, load):
    served.apply(good(NEXT, image, traffic=canary(20, 60)))
    for step, weight in enumerate((20, 60)):
        wait_step(served, NEXT, step)
        began = time.monotonic()
        assert served.seen("iv", f"news-{NEXT}")["status"]["weight"] == weight
        wait_until("waiting for a hundred answers of the step", lambda b=began: len(load.since(b)) > 100, within=30)
        versions = versions_of(load.since(began + 1)[:75])
        assert abs(versions[NEXT] / versions.total() - weight / 100) < 0.2, versions
    entry = wait_outcome(served, NEXT, "Promoted")
    served.wait_stable(NEXT)
    wait_until(f"waiting until {NEXT} answers alone", lambda: set(versions_of(load.last(40))) == {NEXT}, within=10)
    assert failed(load.answers) == []
    assert set(gates_of(entry).values()) == {"Pass"}
    assert {"requests", "success-rate", "p95", "p99"} <= set(gates_of(entry))
    assert [step["weight"] for step in entry["steps"]] == [20, 60]
    assert served.seen("iv", f"news-{GOOD}")["status"]["role"] == "Warm"


def test_a_slow_version_is_stopped_by_its_latency(served, image, files, load):
    slow = sentiment(
        NEXT,
        image,
        variant="slow",
        slo=LAX_SLO,
        model=files.model("slow"),
        # Batches of up to 32 take 5 s each: slow, and nobody waits for long in the queue.
        triton={
            "maxBatchSize": 32,
            "dynamicBatching": {"preferredBatchSizes": [32]},
            "parameters": {"delay_ms": "5000"},
            "warmup": {"enabled": False},
        },
        guardrails={"timeout": "30s"},
        traffic=canary(20, 60),
    )
    served.apply(slow)
    entry = wait_outcome(served, NEXT, "Failed")
    assert "p95" in entry["message"]
    assert gates_of(entry)["p95"] == "Fail"
    stopped = time.monotonic()
    wait_until(f"waiting until {GOOD} answers alone", lambda: len(load.since(stopped + 1)) > 40, within=20)
    assert set(versions_of(load.since(stopped + 1))) == {GOOD}
    assert failed(load.answers) == []
    assert [step["weight"] for step in entry["steps"]] == [20]
    condition = served.condition("iv", f"news-{NEXT}", "Failed")
    assert condition["status"] == "True"
    assert "p95" in condition["message"]
    assert versions_of(load.answers)[NEXT] < 0.5 * len(load.answers)


def test_a_version_that_fails_requests_is_stopped_by_its_success_rate(served, image, files, load):
    flaky = sentiment(NEXT, image, variant="flaky", slo=LAX_SLO, model=files.model("flaky"), traffic=canary(30, 60))
    served.apply(flaky)
    entry = wait_outcome(served, NEXT, "Failed")
    assert gates_of(entry)["success-rate"] == "Fail", entry["message"]
    stopped = time.monotonic()
    wait_until("waiting for answers after it", lambda: len(load.since(stopped + 1)) > 40, within=20)
    after = load.since(stopped + 1)
    assert set(versions_of(after)) == {GOOD}
    assert failed(after) == []
    assert {answer.version for answer in failed(load.answers)} <= {NEXT}


def test_pause_holds_and_a_failing_gate_still_rolls_back(served, image, files, load):
    served.kubectl.patch("iep", "news", {"spec": {"paused": False}})
    served.apply(good(NEXT, image, traffic=canary(20, 60)))
    wait_step(served, NEXT, 0)
    served.kubectl.patch("iep", "news", {"spec": {"paused": True}})
    wait_until(
        "waiting until the gates pass and it is paused",
        lambda: "the endpoint is paused" in served.condition("iep", "news", "Ready")["message"],
        within=60,
    )
    assert status_of(served)["candidate"]["step"] == 0
    never = {"name": "never", "promql": "vector(1)", "max": "0"}
    served.kubectl.patch("iv", f"news-{NEXT}", {"spec": {"traffic": {"gates": [never]}}})
    entry = wait_outcome(served, NEXT, "Failed")
    assert "never" in entry["message"]
    assert failed(load.answers) == []


def test_without_requests_a_step_holds_and_its_own_requests_are_counted(served, image):
    with Load(served.target(), rate=25):
        served.apply(good(NEXT, image, traffic=canary(20, 60)))
        wait_step(served, NEXT, 1)
    # Nobody asks any more; what the first step saw must not carry the second.
    wait_until(
        "waiting until the gates say that requests are missing",
        lambda: "requests" in served.condition("iep", "news", "Ready")["message"],
        within=60,
    )
    began = time.monotonic()
    wait_until("watching the hold for some looks", lambda: time.monotonic() - began > 8, within=20)
    assert status_of(served)["candidate"]["step"] == 1
    with Load(served.target(), rate=25):
        wait_outcome(served, NEXT, "Promoted")


def test_prometheus_that_is_down_in_the_middle_holds_the_release_which_then_goes_on(served, image, load):
    monitoring = served.cluster.as_user.inside("monitoring")
    served.apply(good(NEXT, image, traffic=canary(20)))
    wait_step(served, NEXT, 0)
    monitoring.run("scale", "deployment/prometheus", "--replicas=0")
    try:
        wait_until(
            "waiting until the gates can't be asked",
            lambda: "Inconclusive" in gates_of(status_of(served).get("candidate") or {}).values(),
            within=60,
        )
        began = time.monotonic()
        wait_until("watching the hold for longer than the step", lambda: time.monotonic() - began > 8, within=20)
        assert status_of(served)["candidate"]["step"] == 0
    finally:
        monitoring.run("scale", "deployment/prometheus", "--replicas=1")
    wait_outcome(served, NEXT, "Promoted")
    assert failed(load.answers) == []


def test_an_operator_killed_at_each_step_ends_where_it_would_have(served, image, load):
    fresh_operator(served.cluster)
    served.apply(good(NEXT, image, traffic=canary(20, 60)))
    for step in (0, 1):
        wait_step(served, NEXT, step, begun=False)
        kill_operator(served.cluster)
    entry = wait_outcome(served, NEXT, "Promoted", within=180)
    assert [step["weight"] for step in entry["steps"]] == [20, 60]
    assert failed(load.answers) == []
    assert [e["version"] for e in history_of(served)].count(NEXT) >= 1


def test_abort_and_promote_by_annotation(served, image, load):
    slowly = canary(20, 60, duration="10m")
    served.apply(good(NEXT, image, traffic=slowly))
    wait_step(served, NEXT, 0)
    served.kubectl.run("annotate", "iep", "news", f"inferenceversion.io/action=promote {NEXT} step=0", "--overwrite")
    wait_step(served, NEXT, 1)
    served.kubectl.run("annotate", "iep", "news", f"inferenceversion.io/action=abort {NEXT} by=ada", "--overwrite")
    entry = wait_outcome(served, NEXT, "Aborted")
    assert entry["by"] == "ada"
    stopped = time.monotonic()
    wait_until("waiting for answers after it", lambda: len(load.since(stopped + 1)) > 40, within=20)
    assert set(versions_of(load.since(stopped + 1))) == {GOOD}
    assert failed(load.answers) == []


def test_of_two_candidates_within_a_second_the_higher_one_is_released(served, image, load):
    for version in (NEXT, "2.4.2"):
        served.apply(good(version, image, traffic=canary(20)))
    wait_outcome(served, "2.4.2", "Promoted")
    assert failed(load.answers) == []
    assert NEXT not in versions_of(load.answers)


def test_a_wrong_query_is_said_before_any_request_moves(served, image, load):
    wrong = {"name": "mine", "promql": "sum(rate(x[5m])", "max": "1"}
    served.apply(good(NEXT, image, traffic=canary(20, gates=[wrong])))
    stalled = served.wait_condition("iep", "news", "Stalled", reason="BadQuery")
    assert "mine" in stalled["message"]
    assert set(versions_of(load.last(40))) == {GOOD}
    served.kubectl.patch("iv", f"news-{NEXT}", {"spec": {"traffic": {"gates": []}}})
    wait_outcome(served, NEXT, "Promoted")
    assert failed(load.answers) == []


def test_a_session_stays_on_one_version(served, image, load):
    plan = canary(50, duration="10m")
    plan["canary"]["stickyHeader"] = "x-session-hash"
    served.apply(good(NEXT, image, traffic=plan))
    wait_step(served, NEXT, 0)

    def answers(session: str) -> set[str]:
        return {ask(served.target(x_session_hash=session)).version for _ in range(12)}

    wait_until("waiting until sessions are split", lambda: answers("5f00") == {NEXT}, within=20)
    assert answers("5f00") == {NEXT}
    assert answers("5fff") == {GOOD}
    served.kubectl.run("annotate", "iep", "news", f"inferenceversion.io/action=abort {NEXT}", "--overwrite")
    wait_outcome(served, NEXT, "Aborted")
    wait_until("waiting until sessions are back", lambda: answers("5f00") == {GOOD}, within=20)
    wait_until(
        "waiting until the sessions' route is gone",
        lambda: not [r for r in served.all_of("httproute") if r["metadata"]["name"].endswith("-sticky")],
        within=30,
    )
    assert failed(load.answers) == []


def test_the_fix_of_a_first_version_that_never_worked_goes_straight_in(served, image):
    broken = good(GOOD, image, endpoint="fresh", model={"weightHash": f"sha256:{'1' * 63}2"})
    served.apply(broken)
    served.wait_condition("iv", f"fresh-{GOOD}", "Stalled", reason="WeightHashDiffers")
    served.apply(good(NEXT, image, endpoint="fresh", traffic=canary(20, duration="10m")))
    entry = wait_outcome(served, NEXT, "Promoted", endpoint="fresh")
    assert entry["reason"] == "FirstVersion"
    wait_until("waiting until it answers", lambda: ask(served.target("fresh")).version == NEXT, within=30)
    assert served.condition("iv", f"fresh-{GOOD}", "Broken")["reason"] == "WeightHashDiffers"
