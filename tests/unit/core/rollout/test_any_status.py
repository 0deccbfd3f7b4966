"""Whatever the statuses hold that the CRDs admit: a decision comes of it, and the API server takes what it writes."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferenceversion_operator.api.crds import structural_schema
from inferenceversion_operator.api.types import Traffic
from tests.support.builders import a_version
from tests.unit.core.rollout.conftest import FAIL, PASS, UNCLEAR, says
from tests.unit.core.rollout.stories import APPROVED, BOTH, CANARY, SHADOW, problems, serving

MOMENTS = (
    *("2026-11-30T12:00:00Z", "2026-11-30T13:00:30.123456789+01:00", "2027-01-01T00:00:00Z", "2026-02-30T00:00:00Z"),
    *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-11-30t11:00:60z"),
)
TEXTS = (
    *("", "\0", "😀" * 30, "y" * 2000, "2.4.0", "2.4.1", "9.9.9", "latency", "Promoted", "Failed", "Shadow", "Canary"),
    *("Ready", "Stalled", "Accepted", "Broken", "abort 2.4.1", "sentiment-2.4.0"),
)
LINES = (
    *(None, "promote 2.4.1", "promote 2.4.1 skip-steps", "abort 2.4.1", f"promote 2.4.1 step=0 by={'x' * 450}"),
    *("x" * 250_000, f"promote 2.4.1 step={'9' * 99}", f"abort 2.4.1 at={'9' * 480}", "promote 2.4.1 step=0 by=😀"),
)


def anything(schema):  # noqa: PLR0911 - one return a type
    """Return a strategy of what the schema admits, with a liking for what is odd."""
    match schema:
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "object"}:
            fields = {name: anything(field) for name, field in schema["properties"].items()}
            needed = {name: fields.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(needed, optional=fields)
        case {"type": "array"}:
            keys = schema.get("x-kubernetes-list-map-keys")
            same = (lambda item: tuple(item.get(key) for key in keys)) if keys else None
            return st.lists(anything(schema["items"]), max_size=3, unique_by=same)
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "integer"}:
            most = 2**63 if schema["format"] == "int64" else 2**31
            low, high = schema.get("minimum", -most), schema.get("maximum", most - 1)
            return st.sampled_from([n for n in (0, 1, 50, 100, -1, 500, low, high) if low <= n <= high])
        case {"format": "date-time"}:
            return st.sampled_from(MOMENTS)
    return st.sampled_from([text for text in TEXTS if len(text) <= schema.get("maxLength", 10_000)])


def statuses_of(kind):
    return anything(structural_schema(kind)["properties"]["status"])


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    statuses_of("InferenceEndpoint"),
    statuses_of("InferenceVersion"),
    statuses_of("InferenceVersion"),
    st.sampled_from([CANARY, SHADOW, BOTH, APPROVED, Traffic()]),
    st.fixed_dictionaries(
        {"action": st.sampled_from(LINES), "pin": st.sampled_from([None, "2.4.0", "2.4.1", "9.9.9"])},
        optional={"paused": st.booleans(), "warm": st.integers(0, 2)},
    ),
    st.tuples(st.sampled_from([PASS, UNCLEAR, FAIL]), st.booleans(), st.sampled_from(["2.4.0", "2.4.1", "none"])),
)
def test_whatever_the_statuses_hold(of_endpoint, of_stable, of_candidate, traffic, wish, cluster):
    verdict, with_prometheus, without_pods = cluster
    world = serving().apply(a_version("2.4.1", traffic=traffic)).settle().pass_time(seconds=61)
    world.prometheus = says(latency=verdict, errors=PASS)
    world.settings = replace(world.settings, prometheus=with_prometheus)
    world.never_ready.add(without_pods)
    world.endpoint = replace(world.endpoint, status={**world.endpoint.status, **of_endpoint}, **wish)
    for name, status in (("sentiment-2.4.0", of_stable), ("sentiment-2.4.1", of_candidate)):
        before = world.versions[name]
        world.versions[name] = replace(before, status={**before.status, **status})
    for _ in range(5):
        world.pods_become_ready()
        world.gateway_takes_routes()
        world.step()
        world.prometheus_answers(world.plan)
        assert problems(world) == []
        assert all(0 < weight <= 100 for weight in world.weights.values())
        assert sum(world.weights.values()) in (0, 100)
    world.pass_time(seconds=30).settle()
