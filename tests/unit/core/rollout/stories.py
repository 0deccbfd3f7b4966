"""What stories of releases by steps have in common."""

from inferenceversion_operator.api.shape import check_shape
from inferenceversion_operator.api.types import Approval, Canary, Shadow, Step, Strategy, Traffic
from tests.support.builders import a_version
from tests.support.world import World

STEPS = (Step(5, 60, 100), Step(50, 60, 100))
CANARY = Traffic(Strategy.CANARY, canary=Canary(STEPS))
SHADOW = Traffic(Strategy.SHADOW, shadow=Shadow(percent=20, min_duration_s=60))
BOTH = Traffic(Strategy.SHADOW_THEN_CANARY, shadow=Shadow(min_duration_s=60), canary=Canary(STEPS))
APPROVED = Traffic(Strategy.CANARY, canary=Canary((Step(5, 60, 0, Approval(timeout_s=600)), STEPS[1])))


def serving(version="2.4.0"):
    """Return a world in which a version serves, and Prometheus knows nothing yet."""
    return World().apply(a_version(version)).settle()


def releasing(traffic, version="2.4.1"):
    """Return a world in which 2.4.0 serves and another version has come to its first stage."""
    return serving().apply(a_version(version, traffic=traffic)).settle()


def pass_stage(world, seconds=60, **gates):
    """Let a stage's time pass, its gates saying so."""
    world.prometheus = gates
    return world.pass_time(seconds=seconds).settle()


def problems(world):
    """Return what the API server would have against the statuses: it would refuse them, and nothing would go on."""
    found = list(check_shape("InferenceEndpoint", {"status": world.endpoint.status}).problems)
    for version in world.versions.values():
        found += check_shape("InferenceVersion", {"status": version.status}).problems
    return [problem for problem in found if problem.field.startswith("status")]
