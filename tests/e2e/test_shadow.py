"""Copies of live requests are answered by a candidate too; a difference stops it before one live user sees it."""

from collections.abc import Iterator

import pytest

from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.cluster_servers import FileServer, start_file_server
from tests.support.load import GrpcLoad, Load, ask, failed, versions_of
from tests.support.releases import LAX_SLO, gates_of, go_back, good, serve, shadow, status_of, wait_outcome, wait_step
from tests.support.wait import wait_until

GOOD, NEXT = "2.4.0", "2.4.1"
# Requests that meet in Triton's queue are run together.
BATCHES = {"maxBatchSize": 8, "dynamicBatching": {"preferredBatchSizes": [8], "maxQueueDelay": "40ms"}}


@pytest.fixture(scope="module")
def served(ns: Namespace, image: str) -> Namespace:
    return serve(ns, image, GOOD)


@pytest.fixture(scope="module")
def files(served: Namespace, operator_image: str) -> FileServer:
    return start_file_server(served, operator_image)


@pytest.fixture
def load(served: Namespace) -> Iterator[Load]:
    with Load(served.target(), rate=20) as load:
        yield load


@pytest.fixture(autouse=True)
def only_the_good_one(served: Namespace) -> Iterator[None]:
    yield
    go_back(served, GOOD)


def test_a_changed_tokenizer_is_stopped_before_one_live_user_sees_it(served, image, files, load):
    served.apply(
        sentiment(NEXT, image, variant="tokenizer", slo=LAX_SLO, model=files.model("tokenizer"), traffic=shadow())
    )
    with GrpcLoad(served.target(), rate=5) as grpc:
        entry = wait_outcome(served, NEXT, "Failed")
    assert gates_of(entry)["mismatch"] == "Fail"
    assert "mismatch" in entry["message"]
    assert failed(load.answers) == []
    assert failed(grpc.answers, good=0) == []
    assert set(versions_of(load.answers)) == {GOOD}
    assert set(versions_of(grpc.answers)) == {GOOD}


def test_a_version_that_answers_alike_is_promoted(served, image, load):
    served.apply(good(NEXT, image, traffic=shadow(percent=50)))
    wait_step(served, NEXT, None, phase="Shadow")
    assert set(versions_of(load.answers)) == {GOOD}
    entry = wait_outcome(served, NEXT, "Promoted")
    assert gates_of(entry)["mismatch"] == "Pass"
    served.wait_gone(
        "the differ is gone", lambda: [d for d in served.all_of("deployment") if "differ" in d["metadata"]["name"]]
    )
    assert failed(load.answers) == []


def test_answers_mixed_up_only_under_load_are_found(served, image, files):
    mixed = sentiment(
        NEXT,
        image,
        variant="mixed",
        slo=LAX_SLO,
        model=files.model("mixed"),
        triton=BATCHES,
        traffic=shadow(requests=50),
    )
    served.apply(mixed)
    wait_step(served, NEXT, None, phase="Shadow")
    named = served.target(x_inference_version=NEXT)
    assert ask(named).label == ask(served.target()).label  # alone it is right
    with Load(served.target(), rate=60) as load:
        entry = wait_outcome(served, NEXT, "Failed")
    assert gates_of(entry)["mismatch"] == "Fail"
    assert set(versions_of(load.answers)) == {GOOD}
    assert failed(load.answers) == []


def test_a_shadow_that_saw_nothing_holds(served, image):
    served.apply(good(NEXT, image, traffic=shadow(duration="2s")))
    wait_step(served, NEXT, None, phase="Shadow")
    wait_until(
        "waiting until the gates say that nothing was compared",
        lambda: gates_of(status_of(served).get("candidate") or {}).get("requests") == "Inconclusive",
        within=60,
    )
    assert status_of(served)["stable"] == GOOD
    with Load(served.target(), rate=25) as load:
        wait_outcome(served, NEXT, "Promoted")
    assert failed(load.answers) == []


def test_a_differ_that_dies_costs_no_live_request(served, image, load):
    served.apply(good(NEXT, image, traffic=shadow(duration="10m")))
    wait_step(served, NEXT, None, phase="Shadow")
    (pod,) = [p for p in served.all_of("pod") if "differ" in p["metadata"]["name"]]
    served.kubectl.run("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")
    wait_until("waiting for answers without it", lambda: len(load.answers) > 100, within=60)
    wait_step(served, NEXT, None, phase="Shadow")
    assert failed(load.answers) == []
    assert set(versions_of(load.answers)) == {GOOD}
