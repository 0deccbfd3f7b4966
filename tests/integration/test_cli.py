"""kubectl iv against a real API server and the real operator, run by kubectl as its plugin."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from dev.paths import ROOT
from tests.integration.test_control_loop import rest, version
from tests.integration.test_release import pods_are_ready, roles, serves
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


@pytest.fixture
def two(operator, kubectl):
    """2.4.1 serves, 2.4.0 is warm."""
    for number in ("2.4.0", "2.4.1"):
        kubectl.apply(version(number))
        pods_are_ready(kubectl, number)
        serves(kubectl, number)
    rest(kubectl)
    return kubectl


def test_status_tells_what_the_operator_wrote(two, iv, kubectl_run):
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
        (("rollback", "news-sentiment", "not a version", "--force"), 1, "the API server refuses"),
        (("rollback", "nope", "2.4.0"), 1, "no InferenceEndpoint nope"),
        (("status", "--context", "nowhere"), 3, "nowhere"),
        (("rollback", "news-sentiment"), 2, "name a VERSION"),
    ],
)
def test_no_is_said_in_a_line_and_by_the_exit_code(two, iv, words, code, said):
    done = iv(*words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_argo_cd_owns_is_not_touched(two, iv):
    tracking = "argocd.argoproj.io/tracking-id=news:inferenceversion.io/InferenceEndpoint:news/news-sentiment"
    two.run("annotate", "iep", "news-sentiment", tracking)
    done = iv("rollback", "news-sentiment", "2.4.0")
    assert done.returncode == 1
    change = yaml.safe_load(done.stdout)
    assert change["spec"] == {"version": "2.4.0"}
    assert json.loads(two.run("get", "iep", "news-sentiment", "-o", "json"))["spec"].get("version") is None


def test_versions_are_compared_on_the_cluster(two, iv):
    same = iv("diff", "news-sentiment-2.4.0", "news-sentiment-2.4.1")
    assert same.returncode == 0
    assert same.stdout.startswith("same digest: sha256:")


def test_what_render_prints_is_what_is_on_the_cluster(two, iv, kubectl_run):
    live = two.run("get", "iv", "news-sentiment-2.4.1", "-o", "yaml")
    printed = kubectl_run("iv", "render", "-f", "-", stdin=live).stdout
    rendered = {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(printed)}
    config = next(obj for (kind, _), obj in rendered.items() if kind == "ConfigMap")
    found = json.loads(two.run("get", "configmap", config["metadata"]["name"], "-o", "json"))
    assert found["data"] == config["data"]
    assert found["metadata"]["ownerReferences"] == config["metadata"]["ownerReferences"]


def test_kubectl_completes_endpoints_and_versions(two, kubectl_run):
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
