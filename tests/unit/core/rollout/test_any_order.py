"""Whatever happens in whatever order, and wherever the operator is killed: what must hold of a release by steps."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferenceversion_operator.api.types import Canary, Gateway, Traffic
from inferenceversion_operator.core.decide import decide
from tests.support.builders import a_version
from tests.support.world import Crash, World
from tests.unit.core.rollout.conftest import FAIL, PASS, UNCLEAR, says
from tests.unit.core.rollout.stories import APPROVED, BOTH, CANARY, SHADOW, STEPS, problems

GOOD, BAD = says(latency=PASS, errors=PASS), says(latency=PASS, errors=FAIL)
STICKY = replace(CANARY, canary=Canary(STEPS, sticky_header="x-session-hash"))


def story(world):
    """Releases that end well, by a gate, by hand and by a newer one; the world may crash anywhere."""
    for act in (
        lambda: world.apply(a_version("2.4.0")),
        lambda: world.apply(a_version("2.4.1", traffic=BOTH)),
        *[lambda: hear(world, GOOD, 60)] * 3,
        lambda: world.apply(a_version("2.5.0", traffic=STICKY)),
        lambda: hear(world, GOOD, 60),
        lambda: hear(world, BAD, 10),
        lambda: world.apply(a_version("2.6.0", traffic=SHADOW)),
        lambda: world.apply(a_version("2.7.0", traffic=CANARY)),
        lambda: world.ask("abort 2.7.0 by=ada"),
        lambda: world.edit_endpoint(pin="2.4.0"),
        lambda: world.edit_endpoint(pin=None),
        lambda: world.apply(a_version("2.8.0", traffic=STICKY)),
        lambda: world.ask("promote 2.8.0 skip-steps"),
        lambda: world.apply(a_version("2.9.0", traffic=CANARY)),
    ):
        try:
            act()
            world.settle()
        except Crash:
            world.settle()
    return world


def hear(world, answers, seconds):
    world.prometheus = answers
    world.pass_time(seconds=seconds)


def test_killed_after_any_write_the_operator_ends_in_the_same_state():
    undisturbed = story(World())
    assert undisturbed.weights == {"2.8.0": 95, "2.9.0": 5}
    for k in range(undisturbed.writes):
        world = World()
        world.crash_after = k
        assert story(world).summary() == undisturbed.summary(), f"killed after write {k}"


NAMES = {"1.0.0": None, "1.1.0": CANARY, "1.2.0": BOTH, "1.3.0": SHADOW, "1.4.0": APPROVED, "1.5.0": STICKY}
ACTS = st.sampled_from(
    [
        *("apply", "delete", "pin", "unpin", "pause", "resume", "wait", "ready", "break", "gateway", "prometheus"),
        *("good", "bad", "unclear", "promote", "skip", "abort", "settle", "settle", "good"),
        *("traffic", "gateways", "keep none", "lose endpoint", "clock back", "replace"),
    ]
)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(ACTS, st.integers(0, 5)), max_size=50))
def test_whatever_happens(acts):
    world, edited = World(), set()
    for act, n in acts:
        name = list(NAMES)[n]
        if disturb(world, act, name):
            edited.add(name)
        else:
            do(world, act, name)
        world.step()
        world.prometheus_answers(world.plan)
        holds(world, edited)
    world.gateway_works = True
    world.settle()


def disturb(world, act, name):
    """Let one of the rarer things happen; say whether the version is no longer what it was applied as."""
    version = next((v for v in world.versions.values() if v.version == name), None)
    serves = world.endpoint is not None and world.endpoint.status.get("stable") == name
    match act:
        case "traffic" if version:
            others = [traffic or Traffic() for traffic in NAMES.values()]
            traffic = others[(others.index(version.traffic) + 1) % len(others)]
            world.versions[version.name] = replace(version, traffic=traffic, generation=version.generation + 1)
        case "replace" if version and not serves:  # an admission policy keeps what serves
            other = {
                "uid": f"{version.uid}'",
                "digest": "sha256:" + version.digest[:6:-1],
                "status": {},
                "generation": 1,
            }
            world.versions[version.name] = replace(version, **other)
        case "gateways" if world.endpoint:
            world.edit_endpoint(gateway=Gateway(({"name": "outside"}, {"name": f"inside-{name[2]}"})))
        case "keep none" if world.endpoint:
            world.edit_endpoint(warm=0, history=1)
        case "lose endpoint" if world.endpoint:
            gone, world.endpoint = world.endpoint.uid, None
            owned = lambda obj: obj["metadata"]["ownerReferences"][0]["uid"] == gone  # noqa: E731
            world.objects = {key: obj for key, obj in world.objects.items() if not owned(obj)}
        case "clock back":
            world.pass_time(seconds=-30)
    return act in ("traffic", "replace")


def do(world, act, name):
    """Let one thing happen; what makes no sense now does nothing."""
    exists = any(v.version == name for v in world.versions.values())
    told = {"good": GOOD, "bad": BAD, "unclear": says(latency=UNCLEAR, errors=PASS)}
    actions = {"promote": f"promote {name}", "skip": f"promote {name} skip-steps", "abort": f"abort {name}"}
    match act:
        case "apply" if not exists:
            world.apply(a_version(name, **({"traffic": NAMES[name]} if NAMES[name] else {})))
        case "delete" if exists:
            world.delete(name)
        case "pin" | "unpin":
            world.edit_endpoint(pin=name if act == "pin" else None)
        case "pause" | "resume":
            world.edit_endpoint(paused=act == "pause")
        case "settle" if world.gateway_works:
            world.settle()
        case _ if act in actions and world.endpoint:
            world.ask(f"{actions[act]} at={len(world.events)}")
        case _ if act in told:
            world.prometheus = told[act]
            world.pass_time(seconds=30)
        case _:
            _let_the_cluster(world, act, name)


def _let_the_cluster(world, act, name):
    match act:
        case "wait":
            world.pass_time(seconds=60)
        case "ready":
            world.pods_become_ready()
            world.gateway_takes_routes()
        case "break":
            world.never_ready ^= {name}
        case "gateway":
            world.gateway_works = not world.gateway_works
        case "prometheus":
            world.prometheus_works = not world.prometheus_works


def holds(world, edited):
    """Check what must hold after every single decision."""
    assert decide(world.look(), world.now) == decide(world.look(), world.now)
    split = world.split_log[-1] if world.split_log else {}
    roles = world.roles()
    assert sum(weight for weight, _ in split.values()) in (0, 100)
    assert len(split) <= 2, "never a third one"
    stable = world.endpoint.status.get("stable") if world.endpoint else None
    for version, (_, was_ready) in split.items():
        assert was_ready or version == stable or version not in roles, f"{version} got requests and was not ready"
    pin = world.endpoint.pin if world.endpoint else None
    for version in world.weights:
        assert roles.get(version) != "Failed" or version == pin, f"{version} failed and gets requests"
    for entry in world.endpoint.status.get("history", ()) if world.endpoint else ():
        if entry["reason"] == "GatesPassed":
            assert {gate["verdict"] for gate in entry["gates"]} == {"Pass"}
            assert entry["version"] in edited or len(entry["steps"]) >= len(stages(entry["version"]))
    assert world.endpoint is None or problems(world) == []


def stages(version):
    from inferenceversion_operator.core.rollout.stages import stages_of

    return stages_of(a_version(version, traffic=NAMES[version]))
