"""Every child as YAML in tests/golden/objects; what a reviewer sees when a builder changes."""

from dataclasses import replace
from pathlib import Path

import pytest

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.cli.output import to_yaml
from inferenceversion_operator.core.objects.config_map import make_config_map
from inferenceversion_operator.core.objects.deployment import make_deployment
from inferenceversion_operator.core.objects.differ import make_differ
from inferenceversion_operator.core.objects.endpoint import make_endpoint
from inferenceversion_operator.core.objects.pod import make_pod_spec
from inferenceversion_operator.core.objects.pod_disruption_budget import make_pod_disruption_budget
from inferenceversion_operator.core.objects.route import Split, make_route
from inferenceversion_operator.core.objects.service import make_endpoint_service, make_version_service
from inferenceversion_operator.core.objects.sticky import make_sticky_route
from tests.support.builders import SETTINGS, ZEROS, a_version, an_endpoint

GOLDEN = Path(__file__).parents[3] / "golden" / "objects"
VERSION = a_version("2.4.1")
ALONE = Split(((VERSION, 100),))
SHARED = (a_version("2.4.0"), 95), (VERSION, 5)
GPU = replace(
    VERSION,
    runtime=replace(
        VERSION.runtime,
        limits={"memory": "16Gi", "nvidia.com/gpu": "1"},
        requests={"cpu": "2"},
        env={"OMP_NUM_THREADS": "2"},
        node_selector={"gpu": "a100"},
        tolerations=({"key": "nvidia.com/gpu", "operator": "Exists"},),
        image_pull_secrets=("registry",),
        service_account="triton",
        runtime_class="nvidia",
        resource_claims=({"name": "gpu", "resourceClaimTemplateName": "one-gpu"},),
    ),
)


def from_source(source, **model):
    return replace(VERSION, model=replace(VERSION.model, source=source, **model))


CASES = {
    "deployment": lambda: make_deployment(VERSION, 2, "sentiment-2-4-1-x-00000000", SETTINGS),
    "deployment-gpu": lambda: make_deployment(GPU, 1, "sentiment-2-4-1-x-00000000", SETTINGS),
    "service-of-a-version": lambda: make_version_service(VERSION),
    "service-of-an-endpoint": lambda: make_endpoint_service(an_endpoint(), VERSION),
    "pod-disruption-budget": lambda: make_pod_disruption_budget(VERSION),
    "differ": lambda: make_differ(an_endpoint(), a_version("2.4.0"), VERSION, SETTINGS),
    "endpoint": lambda: make_endpoint("news", "sentiment"),
    "http-route": lambda: make_route("HTTPRoute", an_endpoint(), ALONE, [a_version("2.4.0"), VERSION], SETTINGS),
    "http-route-canary": lambda: make_route("HTTPRoute", an_endpoint(), Split(SHARED), [VERSION], SETTINGS),
    "http-route-shadow": lambda: make_route(
        "HTTPRoute", an_endpoint(), Split(((VERSION, 100),), ("differ", 10)), [VERSION], SETTINGS
    ),
    "grpc-route-shadow": lambda: make_route(
        "GRPCRoute", an_endpoint(), Split(((VERSION, 100),), ("differ", 10)), [VERSION], SETTINGS
    ),
    "http-route-sticky": lambda: make_sticky_route("HTTPRoute", an_endpoint(), Split(SHARED), "x-session", SETTINGS),
    "grpc-route-sticky-after": lambda: make_sticky_route("GRPCRoute", an_endpoint(), ALONE, "x-session", SETTINGS),
    "grpc-route": lambda: make_route("GRPCRoute", an_endpoint(), ALONE, [VERSION], SETTINGS),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name, golden):
    golden(GOLDEN / f"{name}.yaml", to_yaml(CASES[name]()))


def test_no_golden_is_left_behind():
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


@pytest.mark.parametrize(
    ("source", "volume", "mount", "containers"),
    [
        ("image:///opt/news", {"emptyDir": {}}, {"subPath": "source"}, ["stage", "fetch", "guard"]),
        (
            "pvc://models/news/2.4.1",
            {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
            {"subPath": "news/2.4.1"},
            ["fetch", "guard"],
        ),
        ("pvc://models", {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}, {}, ["fetch", "guard"]),
        (
            "oci://registry/models/news@" + ZEROS,
            {"image": {"reference": "registry/models/news@" + ZEROS, "pullPolicy": "IfNotPresent"}},
            {},
            ["fetch", "guard"],
        ),
        ("https://models.example/news.tar.gz", None, None, ["fetch", "guard"]),
        ("s3://models/news", None, None, ["fetch", "guard"]),
    ],
)
def test_a_source_gets_into_the_pod_in_its_own_way(source, volume, mount, containers):
    pod = make_pod_spec(from_source(source), "cm", SETTINGS)
    assert [c["name"] for c in pod["initContainers"]] == containers
    volumes = {v["name"]: {k: x for k, x in v.items() if k != "name"} for v in pod["volumes"]}
    fetch = next(c for c in pod["initContainers"] if c["name"] == "fetch")
    mounts = [m for m in fetch["volumeMounts"] if m["name"] == "source"]
    assert volumes.get("source") == volume
    assert mounts == ([] if mount is None else [{"name": "source", "mountPath": "/source", "readOnly": True} | mount])


def test_credentials_of_a_source_reach_fetch_and_nobody_else():
    pod = make_pod_spec(from_source("s3://models/news", source_secret="s3-reader"), "cm", SETTINGS)
    users = [c["name"] for c in [*pod["initContainers"], *pod["containers"]] if "envFrom" in c]
    assert users == ["fetch"]


def test_every_container_is_restricted():
    pod = make_pod_spec(VERSION, "cm", SETTINGS)
    for container in [*pod["initContainers"], *pod["containers"]]:
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"]
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["allowPrivilegeEscalation"] is False
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False


def test_the_pod_has_time_to_drain_the_longest_request():
    slow = replace(VERSION, guardrails=replace(VERSION.guardrails, timeout_ms=60_500))
    pod = make_pod_spec(slow, "cm", SETTINGS)
    sleep = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert sleep > 61
    assert pod["terminationGracePeriodSeconds"] > sleep


def test_a_config_map_is_named_by_its_content():
    one, same = make_config_map(VERSION), make_config_map(a_version("2.4.1"))
    other = make_config_map(
        replace(VERSION, guardrails=replace(VERSION.guardrails, timeout_ms=1000), digest="sha256:1", uid="another")
    )
    assert one["metadata"]["name"] == same["metadata"]["name"]
    assert one["metadata"]["name"] != other["metadata"]["name"]
    assert one["immutable"] is True
    assert set(one["data"]) == {"envoy.yaml", "fetch.json", "config.pbtxt", "warmup-strings-1"}


def test_hostnames_that_the_user_declared_are_used_and_grpc_has_its_own():
    from inferenceversion_operator.api.types import Gateway

    endpoint = an_endpoint(gateway=Gateway(hostnames=("news.example.com",)))
    http = make_route("HTTPRoute", endpoint, ALONE, [], SETTINGS)
    grpc = make_route("GRPCRoute", endpoint, ALONE, [], SETTINGS)
    assert http["spec"]["hostnames"] == ["news.example.com"]
    assert grpc["spec"]["hostnames"] == ["grpc.news.example.com"]


def test_a_route_never_has_more_rules_than_the_gateway_api_takes():
    many = [a_version(f"1.{n}.0") for n in range(40)]
    assert len(make_route("HTTPRoute", an_endpoint(), ALONE, many, SETTINGS)["spec"]["rules"]) == 16


def test_a_wildcard_keeps_its_star_in_front_where_grpc_has_a_name_of_its_own():
    from inferenceversion_operator.api.types import Gateway

    endpoint = an_endpoint(gateway=Gateway(hostnames=("*.example.com",)))
    assert make_route("GRPCRoute", endpoint, ALONE, [], SETTINGS)["spec"]["hostnames"] == ["*.grpc.example.com"]


def test_one_request_of_a_claim_is_named_where_a_container_may_name_it():
    claim = {"name": "gpu", "resourceClaimName": "big", "request": "half"}
    pod = make_pod_spec(replace(VERSION, runtime=replace(VERSION.runtime, resource_claims=(claim,))), "cm", SETTINGS)
    assert pod["resourceClaims"] == [{"name": "gpu", "resourceClaimName": "big"}]
    assert pod["containers"][0]["resources"]["claims"] == [{"name": "gpu", "request": "half"}]


def test_dollars_are_doubled_since_the_kubelet_halves_them():
    runtime = replace(VERSION.runtime, env={"PASSWORD": "a$$b$(HOME)"})
    pod = make_pod_spec(replace(from_source("image:///opt/$$x"), runtime=runtime), "cm", SETTINGS)
    assert pod["containers"][0]["env"] == [{"name": "PASSWORD", "value": "a$$$$b$$(HOME)"}]
    assert "/opt/$$$$x" in pod["initContainers"][0]["command"]


@pytest.mark.parametrize("weight", range(1, 101))
def test_a_session_is_on_one_version_and_a_growing_share_keeps_what_it_has(weight):
    candidates = {digits for digits in range(256) if _goes_to(weight, f"5f{digits:02x}") == VERSION.version}
    assert abs(len(candidates) / 256 - weight / 100) < 0.01
    assert candidates == set(range(len(candidates)))
    assert _goes_to(weight, "5F0A") == _goes_to(weight, "5f0a")


def _goes_to(weight, session):
    """Return who answers a session, and that nobody else would."""
    import re

    split = Split(((SHARED[0][0], 100 - weight), (VERSION, weight)))
    rules = make_sticky_route("HTTPRoute", an_endpoint(), split, "x-session", SETTINGS)["spec"]["rules"]
    names = [
        rule["backendRefs"][0]["name"]
        for rule in rules
        if re.fullmatch(rule["matches"][0]["headers"][0]["value"], session)
    ]
    assert len(names) == 1
    return VERSION.version if names[0] == version_name(VERSION.name) else SHARED[0][0].version


def test_two_versions_of_one_digest_do_not_get_each_others_text():
    one = a_version("2.4.0", uid="", digest="sha256:same")
    other = replace(one, endpoint="other", model=replace(one.model, source="image:///elsewhere"))
    assert "elsewhere" not in to_yaml(make_config_map(one))
    assert "elsewhere" in to_yaml(make_config_map(other))
