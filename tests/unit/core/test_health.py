"""What a version's pods do -> conditions that name the cause."""

import json
import time

import pytest

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.api.types import Tensor
from inferenceversion_operator.core.health import observe_health
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.core.triton_log import load_error
from tests.support.builders import ENDPOINT, NAMESPACE, SETTINGS, a_version

VERSION = a_version("2.4.1")
NAME = version_name(VERSION.name)


def pod(*, scheduled=True, init=(), main=(), name="p1", message="", born="2026-11-30T10:00:00Z", **meta):
    condition = {"type": "PodScheduled", "status": "True" if scheduled else "False", "message": message}
    if not scheduled:
        condition["reason"] = "Unschedulable"
    labels = {"inferenceversion.io/name": NAME}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": born, **meta},
        "status": {
            "conditions": [condition],
            "initContainerStatuses": list(init),
            "containerStatuses": list(main),
        },
    }


def container(name, *, ready=False, **state):
    kind, detail = next(iter(state.items()))
    if kind == "crashed":
        waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
        return {"name": name, "ready": False, "image": "img", "state": waiting, "lastState": {"terminated": detail}}
    return {"name": name, "ready": ready, "image": "img", "state": {kind: detail}, "lastState": {}}


def told(reason, message, code=1):
    return {"exitCode": code, "message": json.dumps({"reason": reason, "message": message})}


def health(*pods, deployment=None):
    objects = ()
    if deployment is not None:
        objects = ({"kind": "Deployment", "metadata": {"name": NAME}, "status": deployment},)
    seen = Snapshot(NAMESPACE, ENDPOINT, SETTINGS, versions=(VERSION,), objects=objects, pods=pods)
    return observe_health(seen, VERSION)


def condition(of, kind):
    return next(c for c in of.conditions if c.type == kind)


# From a real tritonserver 2.51 with --log-info=false: (tail, what is shown).
TAILS = {
    "a wrong hash": (
        (
            'E1130 10:00:00.1 1 backend_model.cc:692] "ERROR: Failed to create instance: TritonModelException: preprocessor"\n'
            "E1130 10:00:00.2 1 model_lifecycle.cc:642] \"failed to load 'news' version 1: Internal: TritonModelException: "
            "preprocessor config hash differs: expected sha256:a, got sha256:b\\n\\nAt:\\n  /models/news/1/model.py(9): "
            'initialize\\n"\n'
            "error: creating server: Internal - failed to load all models\n"
        ),
        "model news: preprocessor config hash differs: expected sha256:a, got sha256:b",
    ),
    "a config that is none": (
        (
            "[libprotobuf ERROR text_format.cc:337] Error parsing text-format inference.ModelConfig: 12:14: Message type "
            '"inference.ModelConfig" has no field named "max_batch_sze".\n'
            "E1130 10:00:00.1 1 model_repository_manager.cc:1460] \"Poll failed for model directory 'news': failed to read "
            'text proto from /models/news/config.pbtxt"\n'
        ),
        '12:14: Message type "inference.ModelConfig" has no field named "max_batch_sze".',
    ),
    "a missing file": (
        (
            "E1130 10:00:00.2 1 model_lifecycle.cc:642] \"failed to load 'news' version 1: Internal: TritonModelException: "
            'model.onnx is missing in /models/news/1"\n'
        ),
        "model news: model.onnx is missing in /models/news/1",
    ),
    "a missing repository": (
        "error: creating server: Internal - failed to stat file /models\n",
        "Internal - failed to stat file /models",
    ),
    "nothing": ("", ""),
    "no cause": ("one line that says nothing", "one line that says nothing"),
    "another program": ("a\nfatal error: x\nfatal error: x\nb", "fatal error: x"),
    "a very long line": ("error: " + "y" * 5000, ("error: " + "y" * 5000)[:1000]),
}

FETCHED = container("fetch", terminated=told("Verified", "all 5 files", code=0))

CASES = [
    # (what is seen, condition, status, reason, words in the message)
    (
        pod(scheduled=False, message="0/1 nodes are available: 1 Insufficient nvidia.com/gpu"),
        "Scheduled",
        "False",
        "Unschedulable",
        "nvidia.com/gpu",
    ),
    (pod(), "Scheduled", "True", "Scheduled", ""),
    (
        pod(init=[container("fetch", running={"startedAt": "2026-11-30T10:00:01Z"})]),
        "WeightsVerified",
        "Unknown",
        "Fetching",
        "",
    ),
    (pod(init=[FETCHED]), "WeightsVerified", "True", "Verified", "all 5 files"),
    (
        pod(init=[container("fetch", terminated=told("WeightHashDiffers", "expected sha256:a, got sha256:b"))]),
        "WeightsVerified",
        "False",
        "WeightHashDiffers",
        "got sha256:b",
    ),
    (
        pod(init=[container("fetch", crashed=told("PreprocessorHashDiffers", "expected a, got b"))]),
        "WeightsVerified",
        "False",
        "PreprocessorHashDiffers",
        "expected a",
    ),
    (
        pod(init=[container("fetch", terminated={"exitCode": 137, "reason": "OOMKilled", "message": ""})]),
        "WeightsVerified",
        "False",
        "FetchFailed",
        "137",
    ),
    (
        pod(init=[container("fetch", terminated={"exitCode": 1, "message": "Traceback: not JSON"})]),
        "WeightsVerified",
        "False",
        "FetchFailed",
        "not JSON",
    ),
    (
        pod(init=[container("stage", terminated={"exitCode": 1, "message": "cp: cannot stat '/nope'"})]),
        "WeightsVerified",
        "False",
        "SourceNotFound",
        "/nope",
    ),
    (
        pod(init=[container("stage", waiting={"reason": "ErrImagePull", "message": "no such host"})]),
        "WeightsVerified",
        "False",
        "ImageNotPulled",
        "no such host",
    ),
    (
        pod(
            init=[
                container("fetch", waiting={"reason": "CreateContainerConfigError", "message": 'secret "s3" not found'})
            ]
        ),
        "WeightsVerified",
        "False",
        "ContainerConfigError",
        'secret "s3" not found',
    ),
    (
        pod(init=[FETCHED], main=[container("triton", waiting={"reason": "ImagePullBackOff", "message": "denied"})]),
        "Loaded",
        "False",
        "ImageNotPulled",
        "denied",
    ),
    (
        pod(init=[FETCHED], main=[container("triton", running={"startedAt": "2026-11-30T10:00:01Z"})]),
        "Loaded",
        "Unknown",
        "Loading",
        "",
    ),
    (
        pod(init=[FETCHED], main=[container("triton", ready=True, running={"startedAt": "2026-11-30T10:00:01Z"})]),
        "Loaded",
        "True",
        "Loaded",
        "",
    ),
    (
        pod(
            init=[FETCHED],
            main=[
                container(
                    "triton",
                    crashed={
                        "exitCode": 1,
                        "message": TAILS["a wrong hash"][0],
                    },
                )
            ],
        ),
        "Loaded",
        "False",
        "LoadFailed",
        "model news: preprocessor config hash differs: expected sha256:a, got sha256:b",
    ),
    (
        pod(init=[FETCHED], main=[container("triton", crashed={"exitCode": 137, "reason": "OOMKilled"})]),
        "Loaded",
        "False",
        "OutOfMemory",
        "runtime.resources.limits.memory",
    ),
    (
        pod(init=[FETCHED, container("guard", crashed={"exitCode": 1, "message": "error: bad bootstrap"})]),
        "Loaded",
        "False",
        "GuardFailed",
        "bad bootstrap",
    ),
]


@pytest.mark.parametrize(("seen", "kind", "status", "reason", "words"), CASES)
def test_what_a_pod_does_becomes_a_condition(seen, kind, status, reason, words):
    found = condition(health(seen), kind)
    assert (found.status, found.reason) == (status, reason)
    assert words in found.message


def test_without_pods_nothing_is_known():
    assert {c.status for c in health().conditions} == {"Unknown"}


def test_pods_that_the_api_server_refuses_are_told():
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
    found = condition(health(deployment={"conditions": [refused]}), "Scheduled")
    assert (found.status, found.reason, found.message) == ("False", "FailedCreate", "exceeded quota")


def test_the_newest_pod_speaks_first():
    old = pod(name="old", init=[FETCHED], born="2026-11-30T10:00:00Z")
    bad = [container("fetch", terminated=told("WeightHashDiffers", "x"))]
    new = pod(name="new", init=bad, born="2026-11-30T11:00:00Z")
    assert condition(health(old, new), "WeightsVerified").status == "False"
    assert condition(health(new, old), "WeightsVerified").status == "False"


def test_a_pod_that_is_leaving_does_not_count():
    bad = [container("fetch", terminated=told("WeightHashDiffers", "x"))]
    assert (
        condition(health(pod(init=bad, deletionTimestamp="2026-11-30T11:00:00Z")), "WeightsVerified").status
        == "Unknown"
    )


def test_ready_replicas_are_those_of_the_deployment():
    assert health(deployment={"replicas": 3, "readyReplicas": 2}).ready_replicas == 2


def test_warm_up_that_is_switched_off_is_said():
    from dataclasses import replace

    cold = replace(VERSION, triton=replace(VERSION.triton, warmup=False))
    running = pod(init=[FETCHED], main=[container("triton", ready=True, running={"startedAt": "2026-11-30T10:00:01Z"})])
    seen = Snapshot(NAMESPACE, ENDPOINT, SETTINGS, versions=(cold,), pods=(running,))
    assert condition(observe_health(seen, cold), "WarmedUp").reason == "NotConfigured"


def test_warm_up_samples_that_are_too_large_are_said_to_be_left_out():
    from dataclasses import replace

    large = replace(VERSION, inputs=(Tensor("TEXT", "BYTES", (1_000_000,)),))
    running = pod(init=[FETCHED], main=[container("triton", ready=True, running={"startedAt": "2026-11-30T10:00:01Z"})])
    seen = Snapshot(NAMESPACE, ENDPOINT, SETTINGS, versions=(large,), pods=(running,))
    told = condition(observe_health(seen, large), "WarmedUp")
    assert (told.reason, "news_sentiment" in told.message) == ("LeftOut", True)


@pytest.mark.parametrize(("tail", "shown"), TAILS.values(), ids=TAILS)
def test_the_cause_is_found_in_a_log_tail(tail, shown):
    assert load_error(tail) == shown


@pytest.mark.parametrize("message", ["[" * 4096, '{"reason": "x"', "\x00", '["a"]', "null"])
def test_a_message_that_fetch_did_not_write_is_told_as_it_is(message):
    ended = container("fetch", terminated={"exitCode": 1, "message": message})
    told = health(pod(init=[ended])).problem
    assert told.reason == "FetchFailed"
    assert message in told.message


def test_a_long_line_that_tells_no_cause_takes_no_time():
    began = time.process_time()
    assert load_error("f" * 100_000) == "f" * 1000
    assert time.process_time() - began < 0.5
