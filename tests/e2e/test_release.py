"""A new version takes over, an old one comes back, and no client notices."""

import time

import pytest

from tests.support.cluster_manifests import sentiment
from tests.support.cluster_namespace import Namespace
from tests.support.load import (
    GrpcLoad,
    Load,
    ask,
    ask_grpc,
    digest_of,
    failed,
    percentile,
    settled_after,
    versions_of,
)
from tests.support.wait import wait_until

OLD, NEW = "2.4.0", "2.4.1"


@pytest.fixture(scope="module")
def both(ns: Namespace, image: str) -> Namespace:
    """Return the namespace with 2.4.1 stable and 2.4.0 warm."""
    ns.apply(sentiment(OLD, image, guardrails={"timeout": "6s"}))
    ns.wait_stable(OLD)
    first_answer(ns)
    switch_under_load(ns, image)
    return ns


def first_answer(ns: Namespace) -> None:
    """Wait until the Gateway has taken the route."""
    wait_until("waiting until the Gateway answers", lambda: not failed([ask(ns.target())]), within=30)


_switch: dict[str, Load | GrpcLoad] = {}


def switch_under_load(ns: Namespace, image: str) -> None:
    with Load(ns.target(), rate=20) as load, Load(ns.target(), rate=2, keep_alive=False) as fresh:
        ns.apply(sentiment(NEW, image, guardrails={"timeout": "5s"}))
        ns.wait_stable(NEW)
        wait_until("waiting until 2.4.1 answers alone", lambda: set(versions_of(load.last(40))) == {NEW}, within=30)
    _switch.update(kept=load, fresh=fresh)


def test_a_new_version_takes_over_without_one_failed_request(both):
    for load in _switch.values():
        assert failed(load.answers) == []
        assert set(versions_of(load.answers)) == {OLD, NEW}
    kept = _switch["kept"].answers
    print(
        f"{len(kept)} requests over the switch, p50 {percentile(kept, 0.5):.3f} s, p99 {percentile(kept, 0.99):.3f} s"
    )


def test_every_answer_carries_the_digest_of_its_version(both):
    for name, version in (("news-2.4.0", OLD), ("news-2.4.1", NEW)):
        digest = both.seen("iv", name)["status"]["snapshotDigest"]
        assert digest.startswith("sha256:")
        for load in _switch.values():
            assert digest_of(load.answers, version) == {digest}


def test_answers_do_not_go_back_and_forth(both):
    versions = [answer.version for answer in _switch["fresh"].answers]
    assert versions == sorted(versions)


def test_kubectl_get_shows_who_serves(both):
    lines = both.kubectl.run("get", "iv").splitlines()
    assert lines[0].split() == ["NAME", "ENDPOINT", "VERSION", "ROLE", "WEIGHT", "READY", "REASON", "AGE"]
    rows = {line.split()[0]: line.split()[1:6] for line in lines[1:]}
    assert rows["news-2.4.1"] == ["news", NEW, "Stable", "100", "True"]
    assert rows["news-2.4.0"] == ["news", OLD, "Warm", "0", "True"]
    endpoints = both.kubectl.run("get", "iep").splitlines()
    assert NEW in endpoints[1]
    assert "True" in endpoints[1]


def test_a_version_that_is_warm_is_reached_by_name(both):
    named = ask(both.target(x_inference_version=OLD))
    assert (named.status, named.version) == (200, OLD)
    assert ask(both.target()).version == NEW


def test_grpc_is_answered_with_the_same_headers(both):
    answer = ask_grpc(both.target())
    digest = both.seen("iv", "news-2.4.1")["status"]["snapshotDigest"]
    assert (answer.status, answer.problem, answer.version, answer.digest) == (0, "", NEW, digest)
    assert answer.label in ("negative", "neutral", "positive")
    assert ask_grpc(both.target(x_inference_version=OLD)).version == OLD


def test_rollback_is_one_patch_and_one_second(both):
    with Load(both.target(), rate=30) as load, GrpcLoad(both.target(), rate=5) as grpc:
        wait_until("waiting until 2.4.1 answers", lambda: len(load.answers) > 20, within=30)
        asked = time.monotonic()
        both.kubectl.patch("iep", "news", {"spec": {"version": OLD}})
        returned = time.monotonic()
        wait_until("waiting until 2.4.0 answers alone", lambda: set(versions_of(load.last(60))) == {OLD}, within=30)
    assert failed(load.answers) == []
    assert failed(grpc.answers, good=0) == []
    took = settled_after(load.answers, asked, lambda answer: answer.version == OLD)
    print(
        f"rollback: {took:.2f} s from kubectl's start, {took - (returned - asked):.2f} s from its end, to 100 % of {OLD}"
    )
    assert took - (returned - asked) <= 1.0
    both.wait_stable(OLD)
    assert both.seen("iv", "news-2.4.1")["status"]["role"] == "Warm"


def test_without_the_pin_the_highest_version_serves_again(both):
    with Load(both.target(), rate=20) as load:
        both.kubectl.patch("iep", "news", {"spec": {"version": None}})
        both.wait_stable(NEW)
        wait_until("waiting until 2.4.1 answers alone", lambda: set(versions_of(load.last(40))) == {NEW}, within=30)
    assert failed(load.answers) == []
