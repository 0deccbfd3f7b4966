"""What share of the requests a canary gets: by chance, and by session."""

import hashlib
import time
from collections.abc import Mapping

from bench.releases_load import burst, rate
from bench.releases_numbers import moved, share_of_hashes, split
from bench.releases_stage import Follower, Numbers, Object, Stage, load_average
from tests.support.load import failed, versions_of
from tests.support.releases import canary

_OLD, _NEW = "1.0.0", "1.1.0"
_HEADER = "x-session-hash"


def measure(stage: Stage, requests: int, weights: tuple[int, ...], *, sticky: bool = False) -> Numbers:
    """Lead a canary through these weights and send so many requests at each."""
    endpoint = "sticky" if sticky else "split"
    stage.say(f"{endpoint}: {_OLD} is to be stable")
    stage.serve(stage.echo(_OLD, endpoint))
    plan = canary(*weights, duration="30m")
    if sticky:
        plan["canary"]["stickyHeader"] = _HEADER
    before = load_average()
    steps = []
    with stage.follow("inferenceendpoints", endpoint) as release:
        asked = time.monotonic()
        stage.ns.apply(stage.echo(_NEW, endpoint, traffic=plan))
        sessions: Mapping[str, str] = {}
        for step, weight in enumerate(weights):
            _wait_begun(release, step, asked)
            found, sessions = _at(stage, endpoint, weight, requests, sessions if sticky else None)
            steps.append(found)
            stage.say(f"{endpoint} {weight} %: {found}")
            if step + 1 < len(weights):
                asked = stage.act(endpoint, f"promote {_NEW} step={step}")
        stage.act(endpoint, f"abort {_NEW}")
        release.wait("the canary is over", lambda obj: not obj.get("status", {}).get("candidate"), after=asked)
    stage.clear()
    return {"load_before": before, "steps": steps}


def _wait_begun(release: Follower, step: int, after: float) -> None:
    def begun(obj: Object) -> bool:
        candidate = obj.get("status", {}).get("candidate") or {}
        return candidate.get("phase") == "Canary" and candidate.get("step") == step and "since" in candidate

    release.wait(f"step {step} begins", begun, after=after)


def _at(
    stage: Stage, endpoint: str, weight: int, requests: int, before: Mapping[str, str] | None
) -> tuple[Numbers, Mapping[str, str]]:
    """Send the requests; return the numbers, and who answered each session.

    Args:
        before: who answered each session at the step before; None: requests carry no session.
    """
    answers = burst(
        stage.ns.target(endpoint),
        count=requests,
        headers_of=(lambda _: {}) if before is None else (lambda number: {_HEADER: session_of(number)}),
    )
    bad = failed(answers)
    found: Numbers = {
        **split(versions_of(a for a in answers if a.status == 200), _NEW, weight),
        "failed": len(bad),
        "failures": [str(answer) for answer in bad[:5]],
        "rate": round(rate(answers)),
    }
    if before is None:
        return found, {}
    now = _who_answers(stage, endpoint, requests // 10)
    again = _who_answers(stage, endpoint, requests // 10)
    found |= {
        "share_of_hashes": share_of_hashes([session_of(number) for number in range(requests)], weight),
        "asked_again": len(now),
        "answered_by_another": sum(now[session] != again[session] for session in now),
        "gone_back_to_stable": len(moved(before, now, _NEW)),
    }
    return found, now


def _who_answers(stage: Stage, endpoint: str, count: int) -> dict[str, str]:
    """Ask once for each of the first sessions, one after another; return who answered each."""
    answers = burst(
        stage.ns.target(endpoint),
        count=count,
        connections=1,
        headers_of=lambda number: {_HEADER: session_of(number)},
    )
    return {session_of(number): answer.version for number, answer in enumerate(answers)}


def session_of(number: int) -> str:
    """Return the hash of a session, as a client makes it."""
    return hashlib.sha256(f"session {number}".encode()).hexdigest()
