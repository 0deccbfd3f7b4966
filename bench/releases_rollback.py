"""Rollback between two warm versions under load: patch -> route, patch -> answers."""

import time

from bench.releases_numbers import spread
from bench.releases_stage import Follower, Numbers, Object, Stage, load_average
from inferenceversion_operator.api.names import endpoint_name, version_name
from tests.support.load import Load, failed, settled_after, versions_of
from tests.support.wait import wait_until

_ENDPOINT, _VERSIONS = "back", ("1.0.0", "1.1.0")
_CALM_S = 1.0
_TIMES = ("patched_s", "route_s", "switched_s", "answers_s")


def measure(stage: Stage, times: int, rate: float) -> Numbers:
    """Go back and forth so many times, with so many requests a second."""
    for version in _VERSIONS:
        stage.say(f"rollback: {version} is to be stable")
        stage.serve(stage.real(version, _ENDPOINT))
    before = load_average()
    samples: list[Numbers] = []
    with (
        stage.follow("httproutes", endpoint_name(_ENDPOINT)) as route,
        Load(stage.ns.target(_ENDPOINT), rate=rate) as load,
    ):
        wait_until("waiting for some answers", lambda: len(load.answers) > rate, within=30)
        for number in range(times):
            samples.append(_once(stage, route, load, _VERSIONS[number % 2]))
            stage.say(f"rollback {number + 1}/{times}: {samples[-1]}")
    bad = failed(load.answers)
    stage.clear()
    return {
        "load_before": before,
        "rate": rate,
        "requests": len(load.answers),
        "failed": len(bad),
        "failures": [str(answer) for answer in bad[:5]],
        **{key: spread(sample[key] for sample in samples) for key in _TIMES},
        "answer_took_s": spread(answer.took for answer in load.answers),
        "samples": samples,
    }


def _once(stage: Stage, route: Follower, load: Load, target: str) -> Numbers:
    """Pin a version that is warm; return seconds from the patch until it was answered, written, true for clients."""
    sent = stage.patch("inferenceendpoints", _ENDPOINT, {"spec": {"version": target}})
    patched = time.monotonic() - sent
    service = version_name(f"{_ENDPOINT}-{target}")
    written = route.wait(f"the route leads to {service}", lambda obj: _leads_to(obj) == {service}, after=sent)
    wait_until(f"waiting until {target} answers alone", lambda: set(versions_of(load.last(40))) == {target}, within=60)
    stage.ns.wait_stable(target, _ENDPOINT)
    since = load.since(sent)
    late = [answer.ended - sent for answer in since if answer.version != target]
    calm = time.monotonic() + _CALM_S
    wait_until("waiting until all is calm", lambda: time.monotonic() > calm, within=60)
    return {
        "patched_s": round(patched, 3),
        "route_s": round(written.at - sent, 3),
        # Whatever was sent later than this was answered by the new version; what the old one had by then, it still
        # answered, the last one at `answers_s`.
        "switched_s": round(settled_after(since, sent, lambda answer: answer.version == target), 3),
        "answers_s": round(max(late, default=0.0), 3),
    }


def _leads_to(route: Object) -> set[str]:
    """Return the Services that requests without a version's name go to."""
    return {ref["name"] for ref in route["spec"]["rules"][0]["backendRefs"] if ref.get("weight", 1)}
