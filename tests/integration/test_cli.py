"""kubectl iv against a real API server and the real operator, run by kubectl as its plugin."""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
import yaml

from dev.paths import ROOT
from tests.integration.test_control_loop import children, rest, version
from tests.integration.test_release import pods_are_ready, roles, serves
from tests.support.control_plane import kubeconfig_of
from tests.support.kubectl import Kubectl
from tests.support.wait import NotYet, wait_until

PLUGIN = """\
#!{python}
import sys
sys.path.insert(0, "{package}")
from inferenceversion_operator.cli.{module} import main
main()
"""


@pytest.fixture(scope="session")
def plugins(tmp_path_factory):
    """A folder for the PATH with what the wheel installs."""
    folder = tmp_path_factory.mktemp("plugins")
    for name, module in (("kubectl-iv", "__main__"), ("kubectl_complete-iv", "kubectl_complete")):
        script = folder / name
        script.write_text(PLUGIN.format(python=sys.executable, package=ROOT / "operator", module=module))
        script.chmod(0o755)
    return folder


@pytest.fixture
def kubectl_run(kubectl, plugins):
    """Run kubectl with the plugin in its PATH; return what it said, whatever the exit code."""
    env = {**os.environ, "PATH": f"{plugins}:{os.environ['PATH']}", "KUBECONFIG": str(kubectl.kubeconfig)}

    def run(*words, stdin=None):
        command = [str(kubectl.binary), *map(str, words)]
        return subprocess.run(command, env=env, input=stdin, capture_output=True, text=True, timeout=90, check=False)

    return run


@pytest.fixture
def iv(kubectl_run, kubectl):
    def run(*words, stdin=None):
        return kubectl_run("iv", *words, "--namespace", kubectl.namespace, stdin=stdin)

    return run


def _release_two(kubectl):
    for number in ("2.4.0", "2.4.1"):
        kubectl.apply(version(number))
        pods_are_ready(kubectl, number)
        serves(kubectl, number)
    rest(kubectl)
    return kubectl


@pytest.fixture
def two(operator, kubectl):
    """2.4.1 serves, 2.4.0 is warm."""
    return _release_two(kubectl)


@pytest.fixture(scope="module")
def kept_namespace(operator, cluster_kubectl):
    name = f"test-{secrets.token_hex(4)}"
    cluster_kubectl.run("create", "namespace", name)
    yield _release_two(cluster_kubectl.inside(name))
    cluster_kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def kept(kept_namespace, kubectl_run):
    """The same for tests that change nothing: one for all of them, with `kubectl iv` in it."""

    def run(*words, stdin=None):
        return kubectl_run("iv", *words, "--namespace", kept_namespace.namespace, stdin=stdin)

    return Kept(kept_namespace, run)


class Kept(NamedTuple):
    kubectl: Kubectl
    iv: Callable[..., subprocess.CompletedProcess[str]]


def test_status_tells_what_the_operator_wrote(kept, kubectl_run):
    two, iv = kept
    tree = iv("status")
    assert tree.returncode == 0, tree.stderr
    assert f"{two.namespace}/news-sentiment" in tree.stdout
    assert re.search(r"2\.4\.1 +Stable +100 % +1/1", tree.stdout)
    assert re.search(r"2\.4\.0 +Warm +0 % +1/1", tree.stdout)
    (view,) = json.loads(iv("status", "news-sentiment", "-o", "json").stdout)
    assert (view["stable"], view["upToDate"]) == ("2.4.1", True)
    digests = iv("versions", "news-sentiment", "-o", "json").stdout
    manifest = yaml.safe_dump(version("2.4.1"))
    computed = kubectl_run("iv", "digest", "-f", "-", stdin=manifest).stdout.split()[0]
    assert json.loads(digests)[0]["digest"] == computed
    everywhere = kubectl_run("iv", "status", "-A", "-o", "json")
    assert view["namespace"] in {found["namespace"] for found in json.loads(everywhere.stdout)}


def test_rollback_by_name_waits_until_it_serves(two, iv):
    done = iv("rollback", "news-sentiment", "2.4.0")
    assert done.returncode == 0, done.stderr
    seconds = float(re.search(r"after (\d+\.\d+) s", done.stdout)[1])
    assert seconds < 5
    serves(two, "2.4.0")
    rest(two)
    assert roles(two) == {"2.4.0": "Stable", "2.4.1": "Warm"}
    again = iv("rollback", "news-sentiment", "2.4.0", "-o", "json")
    assert json.loads(again.stdout)["changed"] is False
    back = iv("rollback", "news-sentiment", "--to-previous")
    assert back.returncode == 0, back.stderr
    serves(two, "2.4.1")


def test_unpin_lets_the_highest_version_serve_again(two, iv):
    assert iv("rollback", "news-sentiment", "news-sentiment-2.4.0").returncode == 0
    said = iv("unpin", "news-sentiment")
    assert "is no longer pinned to 2.4.0: 2.4.1 is wanted then" in said.stdout
    serves(two, "2.4.1")


def test_a_paused_endpoint_takes_no_new_version_until_it_is_resumed(two, iv):
    assert iv("pause", "news-sentiment").returncode == 0
    two.apply(version("2.4.2"))
    wait_until("it was seen", lambda: roles(two).get("2.4.2") or _not_yet(two), within=10)
    assert roles(two)["2.4.2"] == "Idle"
    assert iv("resume", "news-sentiment").returncode == 0
    pods_are_ready(two, "2.4.2")
    serves(two, "2.4.2")


def _not_yet(kubectl):
    raise NotYet(roles(kubectl))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("rollback", "news-sentiment", "9.9.9"), 1, "no version 9.9.9: there are 2.4.1, 2.4.0"),
        (("rollback", "news-sentiment", "not a version", "--force"), 1, "neither a version nor an InferenceVersion"),
        (("promote", "news-sentiment"), 1, "no release of news-sentiment is under way (stable: 2.4.1; "),
        (
            ("abort", "news-sentiment", "2.4.0"),
            1,
            "version 2.4.0 served before: kubectl iv rollback news-sentiment 2.4.0",
        ),
        (("report", "news-sentiment", "--version", "9.9.9"), 1, "knows of no release of 9.9.9 (of: 2.4.1, 2.4.0)"),
        (("plan", "-f", "/no/such/file.yaml"), 2, "No such file"),
        (("rollback", "nope", "2.4.0"), 1, "no InferenceEndpoint nope"),
        (("status", "--context", "nowhere"), 3, "nowhere"),
        (("rollback", "news-sentiment"), 2, "name a VERSION"),
    ],
)
def test_no_is_said_in_a_line_and_by_the_exit_code(kept, words, code, said):
    done = kept.iv(*words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_where_the_operator_is_down_a_rollback_says_so(two, iv, operator):
    operator.kill()
    try:
        done = iv("rollback", "news-sentiment", "2.4.0", "--timeout", "6")
    finally:
        operator.start()
    assert (done.returncode, done.stdout) == (1, "")
    assert "5 s: the operator has not reacted yet: does it run? kubectl get pods -A -l" in done.stderr
    assert "the pin is set (kubectl iv unpin news-sentiment takes it away), but the operator has not" in done.stderr
    serves(two, "2.4.0")


def test_while_it_waits_a_rollback_says_why_the_version_is_not_ready(two, iv):
    two.apply(version("2.4.2"))
    wait_until("it is the candidate", lambda: roles(two).get("2.4.2") == "Candidate" or _not_yet(two), within=10)
    done = iv("rollback", "news-sentiment", "2.4.2", "--timeout", "3")
    assert done.returncode == 1
    assert "2.4.2 does not serve after 3 s: version 2.4.2: Progressing: 0 of 1 replicas ready" in done.stderr


# ---- promote and abort ----


@pytest.fixture
def starting(two):
    """2.4.2 is on its way: its pods are not ready."""
    two.apply(version("2.4.2"))
    wait_until("it is the candidate", lambda: roles(two).get("2.4.2") == "Candidate" or _not_yet(two), within=10)
    return two


def last_outcome(kubectl):
    return json.loads(kubectl.run("get", "iep", "news-sentiment", "-o", "json"))["status"]["history"][0]


def test_an_abort_is_acted_on_and_on_record(starting, iv):
    tree = iv("status", "news-sentiment").stdout
    assert "candidate 2.4.2: starting, no requests yet, for " in tree
    done = iv("abort", "news-sentiment")
    assert done.returncode == 0, done.stderr
    assert re.match(r"version 2\.4\.2: Aborted: aborted by admin, after \d\.\d\d s", done.stdout)
    assert {key: last_outcome(starting)[key] for key in ("version", "outcome", "by", "instead")} == {
        "version": "2.4.2",
        "outcome": "Aborted",
        "by": "admin",
        "instead": "2.4.1",
    }
    rest(starting)
    assert roles(starting)["2.4.2"] == "Failed"
    again = iv("abort", "news-sentiment")
    assert again.returncode == 1
    assert "no release of news-sentiment is under way" in again.stderr


def test_a_step_that_has_not_begun_is_not_ended(starting, iv):
    done = iv("promote", "news-sentiment")
    assert done.returncode == 1
    assert "version 2.4.2 is not in a step yet (starting, no requests yet)" in done.stderr
    assert "inferenceversion.io/action" not in starting.run("get", "iep", "news-sentiment", "-o", "yaml")


def test_what_its_strategy_holds_back_is_promoted_by_hand(two, iv):
    held = version("2.4.2")
    held["spec"]["traffic"] = {"strategy": "Canary", "canary": {"steps": [{"weight": 10}]}}
    two.apply(held)
    pinned = iv("promote", "news-sentiment", "2.4.2")
    assert pinned.returncode == 1
    slow = iv("promote", "news-sentiment", "2.4.2", "--skip-steps", "--yes", "--timeout", "3")
    assert slow.returncode == 1
    assert "version 2.4.2 takes over when it is Ready; not within 3 s" in slow.stderr
    pods_are_ready(two, "2.4.2")
    serves(two, "2.4.2")
    rest(two)
    assert {key: last_outcome(two)[key] for key in ("outcome", "by", "reason")} == {
        "outcome": "Promoted",
        "by": "admin",
        "reason": "StepsSkipped",
    }


# ---- plan ----


def planned(iv, *objects):
    done = iv("plan", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(objects))
    return done, json.loads(done.stdout or "{}")


def test_a_plan_is_what_happens_then(two, iv):
    manifest = version("2.4.2")
    done, view = planned(iv, manifest)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (endpoint,) = view["endpoints"]
    assert (endpoint["stable"], endpoint["wantedBefore"], endpoint["wantedAfter"]) == ("2.4.1", "2.4.1", "2.4.2")
    expected = {(o["kind"], o["name"]) for o in endpoint["objects"] if o["fate"] == "created"}
    assert {kind for kind, _ in expected} == {"ConfigMap", "Deployment", "Service", "PodDisruptionBudget"}
    assert "news-sentiment-2.4.2" not in two.run("get", "iv", "-o", "name")  # nothing was written
    before = set(children(two))
    two.apply(manifest)
    wait_until("it is the candidate", lambda: roles(two).get("2.4.2") == "Candidate" or _not_yet(two), within=10)
    rest(two)
    assert set(children(two)) - before == expected
    _, view = planned(iv, manifest)
    assert view["manifests"][0]["effect"] == "unchanged"
    assert not view["endpoints"][0].get("objects")


def test_the_api_server_refuses_what_the_plan_refuses(kept):
    two, iv = kept
    changed = version("2.4.1")
    changed["spec"]["guardrails"]["timeout"] = "1s"
    done, view = planned(iv, changed)
    assert done.returncode == 1
    assert view["manifests"][0]["effect"] == "refused"
    (problem,) = view["manifests"][0]["problems"]
    assert problem.partition(": ")[2] in two.refused("apply", "-f", "-", stdin=yaml.safe_dump(changed))


def test_a_policy_that_refuses_is_heard_before(two, iv, kubectl_run, cluster_kubectl):
    name = f"no-{two.namespace}"
    match = {"resourceRules": [{"apiGroups": ["inferenceversion.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["inferenceversions"]}]}  # fmt: skip
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
    }
    policy["spec"] = {"matchConstraints": match, "validations": [{"expression": "false", "message": "not on a Friday"}]}
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": two.namespace}}}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding"}
    binding["spec"] = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
    cluster_kubectl.apply(policy, binding)

    def refused():
        done, view = planned(iv, version("2.4.9"))
        if done.returncode != 1:
            raise NotYet(done.stdout)
        return view["manifests"][0]["problems"]

    try:
        assert "not on a Friday" in wait_until("the policy is in force", refused, within=30)[0]
    finally:
        cluster_kubectl.delete("validatingadmissionpolicybinding", name)
        cluster_kubectl.delete("validatingadmissionpolicy", name)


def test_a_pin_that_somebody_set_stays_when_the_endpoint_is_applied(two, iv):
    declared = {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": "news-sentiment"},
        "spec": {"retention": {"warm": 2}},
    }
    two.apply(declared)
    assert iv("rollback", "news-sentiment", "2.4.0").returncode == 0
    _, view = planned(iv, {**declared, "spec": {}})
    two.apply({**declared, "spec": {}})
    stored = json.loads(two.run("get", "iep", "news-sentiment", "-o", "json"))["spec"]
    assert stored["version"] == view["endpoints"][0]["wantedAfter"] == "2.4.0"
    (change,) = view["manifests"][0]["changes"]
    assert (change["field"], change["a"], change["b"]) == ("retention.warm", 2, stored["retention"]["warm"])


def test_who_may_only_look_gets_a_plan_and_is_told_what_is_missing(kept, kubectl_run, plane, tmp_path):
    two = kept.kubectl
    two.run("create", "serviceaccount", "viewer")
    two.run("create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={two.namespace}:viewer")
    token = two.run("create", "token", "viewer").strip()
    path = kubeconfig_of(tmp_path / "kubeconfig", plane.url, token)
    place = ("--kubeconfig", str(path), "--namespace", two.namespace)
    manifest = yaml.safe_dump(version("2.4.2"))

    def look():
        done = kubectl_run("iv", "plan", "-f", "-", *place, stdin=manifest)
        if done.returncode == 3:  # the role is being aggregated
            raise NotYet(done.stderr)
        return done

    done = wait_until("the role is there", look, within=30)
    assert done.returncode == 0, done.stderr
    assert "admission was not asked" in done.stderr
    assert "wanted: 2.4.1 -> 2.4.2" in done.stdout


# ---- report ----


def test_a_report_of_what_the_operator_wrote(kept, tmp_path):
    iv = kept.iv
    path = tmp_path / "report.html"
    done = iv("report", "news-sentiment", "-o", path)
    assert (done.returncode, done.stdout) == (0, f"{path}\n")
    page = path.read_text()
    view = json.loads(iv("report", "news-sentiment", "-o", "json").stdout)
    assert (view["version"], view["outcome"], view["comparedWith"]) == ("2.4.1", "Promoted", "2.4.0")
    assert view["digest"] in page
    assert [past["version"] for past in view["history"]] == ["2.4.1", "2.4.0"]


# ---- with others, and around ----


def test_what_argo_cd_owns_is_not_touched(two, iv):
    tracking = "argocd.argoproj.io/tracking-id=news:inferenceversion.io/InferenceEndpoint:news/news-sentiment"
    two.run("annotate", "iep", "news-sentiment", tracking)
    done = iv("rollback", "news-sentiment", "2.4.0")
    assert done.returncode == 1
    change = yaml.safe_load(done.stdout)
    assert change["spec"] == {"version": "2.4.0"}
    assert json.loads(two.run("get", "iep", "news-sentiment", "-o", "json"))["spec"].get("version") is None


def test_versions_are_compared_on_the_cluster(kept):
    iv = kept.iv
    same = iv("diff", "news-sentiment-2.4.0", "news-sentiment-2.4.1")
    assert same.returncode == 0
    assert same.stdout.startswith("same digest: sha256:")


def test_what_render_prints_is_what_is_on_the_cluster(kept, kubectl_run):
    two = kept.kubectl
    live = two.run("get", "iv", "news-sentiment-2.4.1", "-o", "yaml")
    printed = kubectl_run("iv", "render", "-f", "-", stdin=live).stdout
    rendered = {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(printed)}
    config = next(obj for (kind, _), obj in rendered.items() if kind == "ConfigMap")
    found = json.loads(two.run("get", "configmap", config["metadata"]["name"], "-o", "json"))
    assert found["data"] == config["data"]
    assert found["metadata"]["ownerReferences"] == config["metadata"]["ownerReferences"]


def test_kubectl_completes_endpoints_and_versions(kept, kubectl_run):
    two = kept.kubectl
    place = ("iv", "rollback", "--namespace", two.namespace)
    assert kubectl_run("__complete", *place, "ne").stdout.splitlines()[0] == "news-sentiment"
    versions = kubectl_run("__complete", *place, "news-sentiment", "").stdout.splitlines()
    assert versions[:2] == ["2.4.0", "2.4.1"]


def test_without_rights_the_cluster_is_what_cannot_be_asked(plane, kubectl_run, tmp_path):
    config = yaml.safe_load(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "no-such-token"}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    done = kubectl_run("iv", "status", "--kubeconfig", tmp_path / "kubeconfig")
    assert (done.returncode, done.stdout) == (3, "")
    assert "401" in done.stderr
