"""What a mirror of all requests costs those who are served: with and without it in turns, on the same pod."""

import re
import time
from collections.abc import Callable, Mapping

from bench.releases_load import burst, rate
from bench.releases_numbers import in_turns, spread
from bench.releases_stage import NAMESPACE, Numbers, Object, Stage, load_average
from inferenceversion_operator.api.names import differ_name
from tests.support.load import HEADER_VERSION, Answer, Load, Target, failed
from tests.support.releases import shadow, wait_step
from tests.support.wait import NotYet, wait_until

_ENDPOINT, _OLD, _NEW = "mirror", "1.0.0", "1.1.0"
_PROBES = 9902
Send = Callable[[Target], list[Answer]]
_COUNTS = ("received", "compared", "dropped")


def measure(stage: Stage, rounds: int, seconds: float, paced: float) -> Numbers:
    """Send requests for so many seconds a turn; then the same at a rate that leaves room; then kill the differ."""
    stage.say(f"shadow: {_OLD} is to be stable")
    stage.serve(stage.echo(_OLD, _ENDPOINT))
    stage.ns.apply(stage.echo(_NEW, _ENDPOINT, traffic=shadow(percent=100, duration="30m")))
    wait_step(stage.ns, _NEW, None, phase="Shadow", endpoint=_ENDPOINT)
    before = load_average()
    found = {
        "load_before": before,
        "flat_out": _in_turns(stage, rounds, lambda target: burst(target, seconds=seconds)),
        "paced": {"per_second": paced, **_in_turns(stage, rounds, lambda target: _at_rate(target, paced, seconds))},
        "differ_killed": _kill_the_differ(stage, paced, seconds),
    }
    wait_step(stage.ns, _NEW, None, phase="Shadow", endpoint=_ENDPOINT)  # it was there all the time
    stage.clear()
    return found


def _targets(stage: Stage) -> dict[str, Target]:
    """Return two ways to the same pod: a request that names its version takes a rule that has no mirror."""
    plain = stage.ns.target(_ENDPOINT, **{HEADER_VERSION: _OLD})
    return {"plain": plain, "mirrored": stage.ns.target(_ENDPOINT)}


def _in_turns(stage: Stage, rounds: int, send: Send) -> Numbers:
    answers: dict[str, list[Answer]] = {"plain": [], "mirrored": []}
    rates: dict[str, list[float]] = {"plain": [], "mirrored": []}
    targets = _targets(stage)
    counted = _settled(stage)
    for way in in_turns(tuple(targets), rounds):
        got = send(targets[way])
        answers[way] += got
        rates[way].append(rate(got))
        now = _settled(stage)
        stage.say(f"shadow, {way}: {rates[way][-1]:.0f}/s, {len(failed(got))} failed, {now}")
    differ = {name: now - counted[name] for name, now in _settled(stage).items()}
    numbers: Numbers = {
        way: {
            "rates": [round(one) for one in rates[way]],
            "took_ms": spread((1000 * a.took for a in answers[way]), 1),
            "failed": len(failed(answers[way])),
        }
        for way in targets
    }
    ratio = sum(rates["mirrored"]) / sum(rates["plain"])
    return {**numbers, "ratio": round(ratio, 2), "requests_mirrored": len(answers["mirrored"]), "differ": differ}


def _at_rate(target: Target, per_second: float, seconds: float) -> list[Answer]:
    until = time.monotonic() + seconds
    with Load(target, rate=per_second) as load:
        wait_until("waiting until the turn is over", lambda: time.monotonic() > until, within=seconds + 30)
    return load.answers


def _kill_the_differ(stage: Stage, per_second: float, seconds: float) -> Numbers:
    """Take the differ away in the middle of a mirror of everything; return what its clients saw."""
    old = _differ(stage)["metadata"]["name"]
    with Load(stage.ns.target(_ENDPOINT), rate=per_second) as load:
        wait_until("waiting for requests", lambda: len(load.answers) > per_second, within=30)
        killed = time.monotonic()
        stage.ns.kubectl.run("delete", "pod", old, "--grace-period=0", "--force")
        wait_until("waiting for another differ", lambda: _differ(stage)["metadata"]["name"] != old, within=120)
        back = time.monotonic()
        wait_until("watching it for a while", lambda: time.monotonic() > back + seconds, within=seconds + 30)
    since = load.since(killed)
    bad = failed(load.answers)
    stage.say(f"shadow, differ killed: away for {back - killed:.1f} s, {len(bad)} failed")
    return {
        "requests": len(since),
        "failed": len(bad),
        "failures": [str(answer) for answer in bad[:5]],
        "away_s": round(back - killed, 1),
        "took_ms": spread((1000 * answer.took for answer in since), 1),
    }


def _differ(stage: Stage) -> Object:
    """Return the pod of the differ that is ready."""
    for pod in stage.ns.all_of("pod"):
        conditions = pod["status"].get("conditions", ())
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        gone = "deletionTimestamp" in pod["metadata"]
        if pod["metadata"]["name"].startswith(differ_name(_ENDPOINT)) and ready and not gone:
            return pod
    raise NotYet("no differ is ready")


def _counts(stage: Stage) -> dict[str, int]:
    """Return what the differ has counted since its start."""
    pod = _differ(stage)["metadata"]["name"]
    body = stage.ns.cluster.api.read(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}:{_PROBES}/proxy/metrics") or b""
    return {name: _sum(body.decode(), name) for name in _COUNTS}


def _sum(metrics: str, name: str) -> int:
    found = re.findall(rf"^inference_shadow_{name}_total(?:\{{.*\}})? (\S+)$", metrics, re.MULTILINE)
    return int(sum(map(float, found)))


def _settled(stage: Stage) -> Mapping[str, int]:
    """Return the counts once nothing is on its way any more."""
    last: dict[str, int] = {}

    def probe() -> dict[str, int]:
        now = _counts(stage)
        calm = now == last
        last.update(now)
        if not calm:
            raise NotYet(now)
        return now

    return wait_until("waiting until the differ is done", probe, within=60, every=1)
