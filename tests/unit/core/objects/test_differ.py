"""The objects of a differ: what two processes spell alike, what a cluster lets in, what names may be."""

import json
from dataclasses import replace

import pytest

from inferenceversion_operator.api.labels import LABEL_DIFFER, LABEL_ENDPOINT, LABEL_MANAGED_BY, LABEL_NAME
from inferenceversion_operator.api.names import differ_name, version_name
from inferenceversion_operator.api.types import Shadow, Tensor, Tolerance, Traffic
from inferenceversion_operator.core.gates import metrics as gates
from inferenceversion_operator.core.objects.differ import PLAN_KEY, make_differ, make_differ_plan
from inferenceversion_operator.core.objects.guard import routes
from inferenceversion_operator.differ import replay
from inferenceversion_operator.differ.__main__ import parse
from inferenceversion_operator.differ.histogram import SCORE_BOUNDS
from inferenceversion_operator.differ.metrics import Exposition
from inferenceversion_operator.differ.plan import read_plan
from inferenceversion_operator.differ.tally import Tally
from tests.support.builders import SETTINGS, a_version, an_endpoint

ENDPOINT, STABLE, CANDIDATE = an_endpoint(), a_version("2.4.0"), a_version("2.4.1")


def made(stable=STABLE, candidate=CANDIDATE, settings=SETTINGS):
    config_map, deployment, service = make_differ(ENDPOINT, stable, candidate, settings)
    return config_map, deployment, service


def plan_of(**changes):
    return make_differ_plan(ENDPOINT, **({"stable": STABLE, "candidate": CANDIDATE} | changes))


def container(deployment):
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only


def test_the_process_reads_what_the_operator_writes():
    config_map, deployment, _ = made()
    plan = read_plan(config_map["data"][PLAN_KEY])
    assert plan.stable.host == f"{version_name(STABLE.name)}.news.svc"
    assert (plan.candidate.version, plan.candidate.name) == ("2.4.1", "sentiment-2.4.1")
    assert (plan.stable.http_port, plan.stable.grpc_port) == (80, 81)
    assert plan.outputs == STABLE.outputs
    assert plan.limits.request_bytes == STABLE.guardrails.max_request_bytes
    assert plan.keep_payloads is False
    path, ports = parse(container(deployment)["args"])
    mounts = {mount["mountPath"] for mount in container(deployment)["volumeMounts"]}
    assert (path.name, str(path.parent)) == (PLAN_KEY, *mounts)
    opened = {port["name"]: port["containerPort"] for port in container(deployment)["ports"]}
    assert opened == {"http": ports.http, "grpc": ports.grpc, "metrics": ports.probes}


def test_the_tolerance_is_the_candidates_and_the_contract_stables():
    shadow = Shadow(tolerance=Tolerance(0.5, 0.25))
    candidate = replace(CANDIDATE, traffic=Traffic(shadow=shadow), outputs=(Tensor("NEW", "FP32", (1,)),))
    plan = plan_of(candidate=candidate)
    assert plan["tolerance"] == {"absolute": 0.5, "relative": 0.25}
    assert [output["name"] for output in plan["outputs"]] == ["LABEL", "SCORES"]


def test_the_longer_timeout_counts_and_the_guards_word_comes_first():
    slow = replace(CANDIDATE, guardrails=replace(CANDIDATE.guardrails, timeout_ms=30_000))
    assert plan_of(candidate=slow)["limits"]["timeoutSeconds"] == 31
    assert plan_of(stable=slow)["limits"]["timeoutSeconds"] == 31


def test_no_more_is_asked_at_once_than_the_candidate_takes():
    narrow = replace(CANDIDATE, guardrails=replace(CANDIDATE.guardrails, max_concurrency=2))
    assert plan_of(candidate=narrow)["limits"]["concurrency"] == 2
    assert plan_of()["limits"]["concurrency"] == 16


@pytest.mark.parametrize("size", [1, 2 << 20, 1 << 30])
def test_memory_holds_the_largest_bodies(size):
    stable = replace(STABLE, guardrails=replace(STABLE.guardrails, max_request_bytes=size))
    config_map, deployment, _ = made(stable=stable)
    limits = read_plan(config_map["data"][PLAN_KEY]).limits
    assert limits.memory_bytes >= limits.request_bytes + 3 * limits.response_bytes
    assert int(container(deployment)["resources"]["limits"]["memory"]) > 2 * limits.memory_bytes
    assert size > 2 << 20 or int(container(deployment)["resources"]["limits"]["memory"]) < 700 << 20


def test_another_candidate_rolls_the_pod():
    first, again, other = made(), made(), made(candidate=a_version("2.4.2"))
    assert first == again
    assert first[0]["metadata"]["name"] != other[0]["metadata"]["name"]
    assert first[1]["spec"]["template"] != other[1]["spec"]["template"]
    assert first[1]["metadata"] == other[1]["metadata"]
    assert first[2] == other[2]


def test_the_service_selects_the_differ_and_no_version():
    _, deployment, service = made()
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selector = service["spec"]["selector"]
    assert selector.items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"] == selector
    assert LABEL_NAME not in labels
    assert labels[LABEL_ENDPOINT] == "sentiment"
    version_labels = {LABEL_NAME: version_name(STABLE.name)}
    assert not version_labels.items() <= labels.items()


def test_all_objects_belong_to_the_endpoint():
    for obj in made():
        (owner,) = obj["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("InferenceEndpoint", "uid-endpoint")
        assert obj["metadata"]["labels"][LABEL_MANAGED_BY] == "inferenceversion-operator"


def test_the_pod_is_restricted():
    _, deployment, _ = made()
    spec = deployment["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"]
    assert container(deployment)["securityContext"]["readOnlyRootFilesystem"]


def test_the_image_is_the_differs_own_where_there_is_one():
    assert container(made()[1])["image"] == SETTINGS.fetch_image
    own = replace(SETTINGS, differ_image="differ@sha256:1")
    assert container(made(settings=own)[1])["image"] == "differ@sha256:1"


def test_the_image_is_pulled_with_the_versions_secrets():
    def with_secrets(version, *names):
        return replace(version, runtime=replace(version.runtime, image_pull_secrets=names))

    _, deployment, _ = made(with_secrets(STABLE, "a", "b"), with_secrets(CANDIDATE, "b", "c"))
    secrets = deployment["spec"]["template"]["spec"]["imagePullSecrets"]
    assert secrets == [{"name": "b"}, {"name": "c"}, {"name": "a"}]


@pytest.mark.parametrize("endpoint", ["a", "9", "x" * 63, "1" * 63])
def test_names_fit_a_service_and_a_label(endpoint):
    config_map, deployment, service = make_differ(replace(ENDPOINT, name=endpoint), STABLE, CANDIDATE, SETTINGS)
    assert deployment["metadata"]["name"] == service["metadata"]["name"] == differ_name(endpoint)
    assert len(config_map["metadata"]["name"]) <= 63
    assert service["spec"]["selector"] == {LABEL_DIFFER: differ_name(endpoint)}


def test_guard_and_differ_know_shadow_traffic_by_one_header():
    assert (replay.HEADER_TRAFFIC, replay.TRAFFIC_SHADOW) == (routes.HEADER_TRAFFIC, routes.TRAFFIC_SHADOW)


def test_gates_ask_for_names_that_the_differ_has():
    plan = read_plan(json.dumps(plan_of()))
    text = Exposition(plan, Tally(plan)).text().decode()
    asked = (gates.COMPARED, gates.MISMATCHED, gates.NOISE_COMPARED, gates.NOISE_MISMATCHED, gates.REPLAYS_FAILED)
    for name in (*asked, gates.SCORES):
        line = next(line for line in text.splitlines() if line.startswith(name + "{"))
        for label in (gates.NAMESPACE, gates.ENDPOINT, gates.CANDIDATE, gates.STABLE):
            assert f'{label}="' in line
    for name in (gates.LABELS, gates.FLIPS):
        assert f"# TYPE {name} counter" in text


def test_answers_about_eight_outputs_fit_into_what_is_read_of_prometheus():
    assert 8 * 2 * (len(SCORE_BOUNDS) + 1) <= 1000
