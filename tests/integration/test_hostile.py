"""Input that the API server takes and that is meant to do harm: who is told, what goes on, and how much is asked."""

import json
import time
from collections import Counter

import pytest

from inferenceversion_operator.api.names import version_name
from tests.integration.test_control_loop import condition, get, version
from tests.support.wait import NotYet, wait_until

FACE = "\U0001f600"


def hostile(number="1.0.0", name=None, endpoint="e", **spec):
    made = version(number, name, endpoint)
    for part, changes in spec.items():
        made["spec"][part] = {**made["spec"].get(part, {}), **changes}
    return made


def endpoint(name, **spec):
    return {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": name},
        "spec": spec,
    }


def make_stable(kubectl, name, number="1.0.0"):
    """Say by hand that a version serves: there are no pods here that could become ready."""
    kubectl.patch("iep", name, {"status": {"stable": number}}, subresource="status")


def is_there(kubectl, kind, name):
    return wait_until(f"the {kind} is there", lambda: get(kubectl, kind, name), within=15)


def says(kubectl, kind, name, wanted, status=None, within=15):
    return wait_until(f"{name} says {wanted}", lambda: condition(kubectl, kind, name, wanted, status), within=within)


REFUSED = {
    "names": {"nodeSelector": {f"{'x' * 254}{n}/zone": "x" for n in range(12)}},
    "huge-pages": {"resources": {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"memory": "1Gi"}}},
    "resource": {"resources": {"limits": {f"{'x' * 254}/gpu": 1}}},
}


def test_what_is_refused_for_good_is_told_and_is_no_hot_loop(operator, kubectl, plane):
    for name, runtime in REFUSED.items():
        kubectl.apply(hostile(name=name, endpoint=f"e-{name}", runtime=runtime))
    for name in REFUSED:
        assert says(kubectl, "iv", name, "Stalled")["reason"] == "Invalid"
    time.sleep(1)
    began = len(plane.writes())
    time.sleep(6)  # the errors of one request come in another order each time
    mine = [w for w in plane.writes()[began:] if w.namespace == kubectl.namespace]
    assert len(mine) <= 3 * len(REFUSED), Counter((w.resource, w.name, w.code) for w in mine)


def test_a_config_that_no_config_map_holds_is_told(operator, kubectl):
    parameters = {f"p{n}": FACE * 1024 for n in range(64)}
    kubectl.run("create", "-f", "-", stdin=json.dumps(hostile(name="huge", triton={"parameters": parameters})))
    assert "1048576" in says(kubectl, "iv", "huge", "Stalled")["message"]


ACCEPTED = {
    "emoji": {"runtime": {"env": [{"name": "FACE", "value": f"{FACE}\u2028\ufeff$$"}]}},
    "large-env": {"runtime": {"env": [{"name": f"A{n}", "value": FACE * 2048} for n in range(64)]}},
    "claim": {"runtime": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "big", "request": "half"}]}},
    "strings": {"contract": {"inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [2**63 - 1, 2**63 - 1]}]}},
    "nul": {"triton": {"parameters": {"p": 'a\x00"}\n'}}},
}


def test_what_the_crd_takes_gets_its_children(operator, kubectl):
    for name, spec in ACCEPTED.items():
        made = hostile(name=name, endpoint=f"e-{name}", **spec)
        kubectl.run("create", "-f", "-", stdin=json.dumps(made))
    for name in ACCEPTED:
        is_there(kubectl, "deployment", version_name(name))
        says(kubectl, "iv", name, "Reconciling")
    env = get(kubectl, "deployment", version_name("emoji"))["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env == [{"name": "FACE", "value": f"{FACE}\u2028\ufeff$$$$"}]


def test_what_a_pod_says_can_be_told_whatever_it_is(operator, kubectl):
    kubectl.apply(hostile(name="v"))
    is_there(kubectl, "deployment", version_name("v"))
    labels = {
        "app.kubernetes.io/managed-by": "inferenceversion-operator",
        "inferenceversion.io/endpoint": "e",
        "inferenceversion.io/name": version_name("v"),
    }
    fetch = {"name": "fetch", "image": "x"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "liar", "labels": labels},
        "spec": {"initContainers": [fetch], "containers": [{"name": "triton", "image": "x"}]},
    }
    kubectl.apply(pod)
    message = json.dumps({"reason": "R" * 500, "message": f"{FACE} \u2028 \x00 \ud83d"})
    ended = {**fetch, "imageID": "", "ready": False, "restartCount": 1}
    ended["state"] = {"terminated": {"exitCode": 1, "message": message}}
    kubectl.patch("pod", "liar", {"status": {"initContainerStatuses": [ended]}}, subresource="status")
    told = says(kubectl, "iv", "v", "WeightsVerified", "False")
    assert told["reason"] == "R" * 128
    assert FACE in told["message"]


def test_an_endpoint_named_as_a_versions_child_does_not_take_its_service(operator, kubectl, plane):
    kubectl.apply(hostile(name="v"))
    taken = version_name("v")
    is_there(kubectl, "service", taken)
    kubectl.apply(hostile(name="w", endpoint=taken))
    is_there(kubectl, "iep", taken)
    make_stable(kubectl, taken)
    assert says(kubectl, "iep", taken, "Stalled")["reason"] == "NameTaken"
    assert get(kubectl, "service", taken)["spec"]["selector"] == {"inferenceversion.io/name": taken}


def test_a_service_of_somebody_else_that_differs_in_nothing_is_left_alone(operator, kubectl):
    ports = [{"name": "db", "port": 5432}]
    kubectl.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "e"}, "spec": {"ports": ports}})
    kubectl.apply(hostile(name="v"))
    is_there(kubectl, "iep", "e")
    make_stable(kubectl, "e")
    assert says(kubectl, "iep", "e", "Stalled")["reason"] == "NameTaken"
    assert "selector" not in get(kubectl, "service", "e")["spec"]


@pytest.mark.parametrize(
    "label",
    ["app.kubernetes.io/managed-by=helm", "app.kubernetes.io/managed-by-", "inferenceversion.io/endpoint=other"],
)
def test_a_label_of_a_child_that_was_edited_is_put_right(operator, kubectl, label):
    kubectl.apply(hostile(name="v"))
    name = version_name("v")
    before = is_there(kubectl, "service", name)["metadata"]["labels"]
    kubectl.run("label", "service", name, label, "--overwrite")

    def right():
        labels = get(kubectl, "service", name)["metadata"]["labels"]
        if labels != before:
            raise NotYet(labels)
        return True

    wait_until("the labels are as before", right, within=10)


def test_a_refused_candidate_does_not_keep_the_service_of_the_stable_version_from_coming_back(operator, kubectl):
    kubectl.apply(hostile(name="old"))
    is_there(kubectl, "iep", "e")
    make_stable(kubectl, "e")
    is_there(kubectl, "service", "e")
    kubectl.apply(hostile("2.0.0", "new", runtime=REFUSED["resource"]))
    says(kubectl, "iv", "new", "Stalled")
    kubectl.delete("service", "e", wait=True)
    is_there(kubectl, "service", "e")


def test_a_wildcard_hostname_has_both_routes(operator, kubectl):
    kubectl.apply(endpoint("e", gateway={"hostnames": ["*.example.com"]}), hostile(name="v"))
    is_there(kubectl, "deployment", version_name("v"))
    make_stable(kubectl, "e")
    assert is_there(kubectl, "grpcroute", "e")["spec"]["hostnames"] == ["*.grpc.example.com"]
    assert is_there(kubectl, "httproute", "e")["spec"]["hostnames"] == ["*.example.com"]


NONSENSE = [
    {"stable": "9.9.9", "phase": "Dreaming"},
    {"candidate": {"version": "1.0.0", "startedAt": "2026-11-30T00:00:00z"}},
    {"candidate": {"version": "1.0.0", "startedAt": "9999-12-31T23:59:59Z", "waitingSince": "9999-12-31T23:59:59Z"}},
    {"candidate": {"version": "never", "startedAt": "2026-11-30T00:00:00Z"}},
    {"history": [{"version": "x", "outcome": "Promoted"}, {"version": ""}] * 50},
]


def test_a_status_written_by_hand_is_made_right(operator, kubectl):
    kubectl.apply(hostile(name="v"))
    says(kubectl, "iep", "e", "Ready")
    for nonsense in NONSENSE:
        kubectl.patch("iep", "e", {"status": nonsense}, subresource="status")

        def right(wrong=nonsense):
            status = get(kubectl, "iep", "e")["status"]
            since = status.get("candidate", {}).get("startedAt", "")
            if "stable" in status or status["phase"] != "Progressing" or not since.startswith("20"):
                raise NotYet(json.dumps([wrong, status]))
            return True

        wait_until("the status is right", right, within=10)


def test_a_version_made_anew_under_its_old_name_owns_its_children(operator, kubectl):
    kubectl.apply(hostile(name="v"))
    name = version_name("v")
    is_there(kubectl, "deployment", name)
    kubectl.delete("iv", "v")
    kubectl.apply(hostile(name="v", model={"name": "another"}))
    uid = get(kubectl, "iv", "v")["metadata"]["uid"]

    def owned():
        owners = [o["uid"] for o in get(kubectl, "deployment", name)["metadata"]["ownerReferences"]]
        if owners != [uid]:
            raise NotYet(owners)
        return True

    wait_until("the new version owns the Deployment", owned, within=20)


def test_after_all_of_this_the_operator_has_met_nothing_that_it_did_not_expect(operator):
    assert "Traceback" not in operator.said()
