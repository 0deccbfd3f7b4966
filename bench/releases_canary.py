"""What a canary whose gates are met at once takes beyond its minimum durations."""

import time
from collections.abc import Callable
from itertools import pairwise

from bench.releases_numbers import spread, steps_took
from bench.releases_stage import Follower, Numbers, Object, Stage, load_average
from tests.support.load import Load, failed
from tests.support.releases import canary

_ENDPOINT = "steps"
_WEIGHTS = (25, 50, 75)
_MINIMUM_S = 5


def measure(stage: Stage, rounds: int, rate: float) -> Numbers:
    """Release so many versions one after another, each by three steps."""
    stage.say("canary: 1.0.0 is to be stable")
    stage.serve(stage.echo("1.0.0", _ENDPOINT))
    before = load_average()
    taken = []
    target = stage.ns.target(_ENDPOINT)
    with stage.follow("inferenceendpoints", _ENDPOINT) as release, Load(target, rate=rate) as load:
        for number in range(rounds):
            taken.append(_once(stage, release, f"1.{number + 1}.0"))
            stage.say(f"canary {number + 1}/{rounds}: {taken[-1]}")
    bad = failed(load.answers)
    stage.clear()
    return {
        "load_before": before,
        "weights": _WEIGHTS,
        "min_duration_s": _MINIMUM_S,
        "interval_s": 1,
        "rate": rate,
        "requests": len(load.answers),
        "failed": len(bad),
        "failures": [str(answer) for answer in bad[:5]],
        "total_s": spread((one["total"] for one in taken), 2),
        "over_per_step_s": spread((one["over_per_step"] for one in taken), 2),
        "rounds": taken,
    }


def _once(stage: Stage, release: Follower, version: str) -> Numbers:
    """Release a version; return what its steps took."""
    applied = time.monotonic()
    traffic = canary(*_WEIGHTS, duration=f"{_MINIMUM_S}s", requests=20)
    stage.ns.apply(stage.echo(version, _ENDPOINT, traffic=traffic))
    entered, begun = [], []
    for step in range(len(_WEIGHTS)):
        entered.append(release.wait(f"step {step} is entered", _is_in(version, step), after=applied).at)
        begun.append(release.wait(f"step {step} begins", _is_in(version, step, begun=True), after=applied).at)
    promoted = release.wait(
        "it is promoted", lambda obj: obj.get("status", {}).get("stable") == version, after=applied
    ).at
    stage.ns.wait_stable(version, _ENDPOINT)
    assert all(one <= other for one, other in pairwise([*begun, promoted]))
    return {**steps_took(entered, begun, promoted, _MINIMUM_S), "until_first_step": round(begun[0] - applied, 2)}


def _is_in(version: str, step: int, *, begun: bool = False) -> Callable[[Object], bool]:
    def probe(obj: Object) -> bool:
        candidate = obj.get("status", {}).get("candidate") or {}
        there = (candidate.get("version"), candidate.get("phase"), candidate.get("step")) == (version, "Canary", step)
        return there and (not begun or "since" in candidate)

    return probe
