"""Commands against an API server over HTTP: what is asked, what is changed, how each thing that goes wrong is told."""

import json
import re
from copy import deepcopy

import pytest
import yaml

from inferenceversion_operator.cli import kubectl_complete, wait
from inferenceversion_operator.cli import status as status_command
from tests.unit.cli.conftest import GOLDEN

MERGE = "application/merge-patch+json"


def reconciled(stable=None, phase="Stable", **status):
    """Return an operator: it sees a patch and writes a status."""

    def write(endpoint):
        endpoint["status"] |= {"observedGeneration": endpoint["metadata"]["generation"], "phase": phase, **status}
        endpoint["status"]["stable"] = stable or endpoint["spec"].get("version", endpoint["status"]["stable"])

    return write


# ---- status, versions ----


def test_status_is_a_tree(iv, cluster, golden, in_the_canary):
    result = iv("status", "-A")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    golden(GOLDEN / "status" / "tree.txt", result.stdout)
    golden(GOLDEN / "status" / "view.json", iv("status", "-A", "-o", "json").stdout)


def test_what_keeps_a_candidate_from_beginning_is_told_once(iv, cluster):
    told = {"type": "Stalled", "status": "True", "reason": "BadQuery", "message": "gate mine: parse error"}
    endpoint = cluster.endpoint()
    version = next(v for v in cluster.objects["inferenceversions"] if v["spec"]["version"] == "2.4.2")
    for status in (endpoint["status"], version["status"]):
        status["conditions"] = [told]
    endpoint["status"]["candidate"] |= {"phase": "Starting", "step": None, "since": None, "gates": []}
    tree = iv("status", "news-sentiment").stdout
    assert tree.count("gate mine: parse error") == 1
    assert "waits for somebody, see above: BadQuery" in tree


def test_gates_that_nobody_looks_at_point_to_the_operator(iv, cluster, in_the_canary):
    candidate = cluster.endpoint()["status"]["candidate"]
    assert "has not looked at its gates" not in iv("status", "news-sentiment").stdout
    candidate["lookedAt"] = "2026-11-30T10:15:00Z"
    assert "the operator has not looked at its gates for 7m: does it run?" in iv("status", "news-sentiment").stdout


def test_status_of_one_endpoint(iv, cluster):
    (view,) = json.loads(iv("status", "news-sentiment", "-o", "json").stdout)
    assert yaml.safe_load(iv("status", "news-sentiment", "-o", "yaml").stdout) == [view]
    assert [v["version"] for v in view["versions"]] == ["2.4.2", "2.4.1", "2.4.0", "2.3.0"]
    missing = iv("status", "nope")
    assert missing.exit_code == 1
    assert "no InferenceEndpoint nope in namespace news (there are: news-sentiment)" in missing.stderr
    elsewhere = iv("status", "news-sentiment", "-n", "empty").stderr
    assert "in namespace empty (there are: none); kubectl iv status -A shows every namespace" in elsewhere
    assert iv("status", "spam", "-A").stdout.startswith("mail/spam  Unknown  pinned to 1.0.0  paused")
    assert iv("status", "nope", "-A").exit_code == 1


def test_namespace_and_context(iv, cluster):
    assert json.loads(iv("status", "-n", "mail", "-o", "json").stdout)[0]["name"] == "spam"
    empty = iv("status", "--context", "there")
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "no InferenceEndpoint in namespace other" in empty.stderr
    assert json.loads(iv("status", "--context", "there", "-o", "json").stdout) == []


def test_colour_where_it_is_asked_for(iv, cluster):
    assert "\x1b[" in iv("status", env={"FORCE_COLOR": "1", "TERM": "xterm"}).stdout
    plain = iv("status", env={"FORCE_COLOR": "1", "TERM": "xterm", "NO_COLOR": "1"}).stdout
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", plain)


def test_watch_prints_what_changes(iv, cluster, monkeypatch, in_the_canary):
    monkeypatch.setattr(status_command, "_INTERVAL_S", 0)
    looks = []

    def look(*args, **kwargs):
        looks.append(1)
        if len(looks) == 3:
            cluster.endpoint()["status"]["stable"] = "2.4.2"
        if len(looks) == 4:
            cluster.refuse = (503, {"message": "etcd is away"})
        if len(looks) == 5:
            cluster.refuse = None
        if len(looks) == 6:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    original = status_command._look
    monkeypatch.setattr(status_command, "_look", look)
    result = iv("status", "--watch", "-o", "json")
    assert result.exit_code == 130
    assert [json.loads(line)[0]["stable"] for line in result.stdout.splitlines()] == ["2.4.1", "2.4.2"]
    assert "etcd is away; trying again" in result.stderr
    looks.clear()
    cluster.endpoint()["status"]["stable"] = "2.4.1"
    lines = iv("status", "--watch").stdout.splitlines()
    assert lines[0].startswith("news/news-sentiment  Canary")
    assert lines[-1] == "2026-11-30T10:22:00Z news/news-sentiment: stable 2.4.1 -> 2.4.2"


def test_versions_is_a_table(iv, cluster, golden, in_the_canary):
    cluster.endpoint()["spec"]["version"] = "2.4.1"
    result = iv("versions", "news-sentiment")
    assert (result.exit_code, result.stderr) == (0, "")
    golden(GOLDEN / "versions" / "table.txt", result.stdout)
    golden(GOLDEN / "versions" / "view.json", iv("versions", "news-sentiment", "-o", "json").stdout)
    assert iv("versions", "nope").exit_code == 1
    assert "has no versions" in iv("versions", "spam", "-n", "mail").stderr


# ---- rollback ----


def test_rollback_sets_the_pin_and_says_how_long_it_took(iv, cluster):
    cluster.after_patch = reconciled()
    result = iv("rollback", "news-sentiment", "2.4.0")
    assert result.exit_code == 0
    path = (
        "/apis/inferenceversion.io/v1alpha1/namespaces/news/inferenceendpoints/news-sentiment?fieldManager=kubectl-iv"
    )
    assert cluster.patches == [(MERGE, path, {"spec": {"version": "2.4.0"}})]
    assert re.fullmatch(r"2\.4\.0 serves all requests of news-sentiment, after 0\.\d\d s\n", result.stdout)
    assert "requests move from 2.4.1 to 2.4.0" in result.stderr


def test_rollback_to_previous_as_json(iv, cluster):
    cluster.after_patch = reconciled()
    outcome = json.loads(iv("rollback", "news-sentiment", "--to-previous", "-o", "json").stdout)
    assert outcome["move"]["to"] == "2.4.0"
    assert (outcome["changed"], outcome["serving"]) == (True, True)
    assert outcome["seconds"] < 5


def test_rollback_without_waiting(iv, cluster):
    result = iv("rollback", "news-sentiment", "2.4.0", "--no-wait")
    assert result.exit_code == 0
    assert "is pinned to 2.4.0: kubectl iv status news-sentiment --watch" in result.stdout
    assert len(cluster.patches) == 1


def test_a_dry_run_changes_nothing(iv, cluster):
    result = iv("rollback", "news-sentiment", "2.4.0", "--dry-run")
    assert (result.exit_code, cluster.patches) == (0, [])
    assert "the pin is set to 2.4.0" in result.stdout


def test_rollback_to_what_serves_already_does_nothing(iv, cluster):
    cluster.endpoint()["spec"]["version"] = "2.4.1"
    result = iv("rollback", "news-sentiment", "2.4.1")
    assert (result.exit_code, cluster.patches) == (0, [])
    assert result.stdout == "news-sentiment is pinned to 2.4.1, and it serves\n"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("9.9.9",), 1, "endpoint news-sentiment has no version 9.9.9: there are 2.4.2"),
        (("2.3.0",), 1, "version 2.3.0 failed"),
        ((), 2, "name a VERSION or say --to-previous"),
        (("2.4.0", "--to-previous"), 2, "one of the two"),
        (("2.4.0", "--timeout", "soon"), 2, "timeout"),
    ],
)
def test_rollback_refuses(iv, cluster, args, code, said):
    result = iv("rollback", "news-sentiment", *args)
    assert (result.exit_code, result.stdout, cluster.patches) == (code, "", [])
    assert said in result.stderr


def test_nobody_can_insist_on_what_does_not_exist(iv, cluster):
    for words in (("9.9.9",), ("9.9.9", "--force")):
        result = iv("rollback", "news-sentiment", *words)
        assert (result.exit_code, cluster.patches) == (1, [])
        assert "--force" not in result.stderr
    assert "--force insists" in iv("rollback", "news-sentiment", "2.3.0").stderr


def test_force_insists(iv, cluster):
    cluster.after_patch = reconciled()
    result = iv("rollback", "news-sentiment", "2.3.0", "--force")
    assert result.exit_code == 0
    assert "going on, as --force says" in result.stderr
    assert len(cluster.patches) == 1


def test_who_insists_is_told_when_it_fails_again(iv, cluster):
    conditions = [{"type": "Stalled", "status": "True", "reason": "PinnedVersionFailed", "message": "it failed again"}]
    cluster.after_patch = reconciled(stable="2.4.1", phase="Stalled", conditions=conditions)
    result = iv("rollback", "news-sentiment", "2.3.0", "--force")
    assert result.exit_code == 1
    assert "endpoint news-sentiment is stalled: it failed again" in result.stderr


def test_rollback_that_takes_too_long(iv, cluster):
    cluster.after_patch = reconciled(stable="2.4.1", phase="Progressing")
    result = iv("rollback", "news-sentiment", "2.4.0", "--timeout", "0.3", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["serving"] is False
    assert "2.4.0 does not serve after 0.3 s: Progressing: version 2.4.2 has 25 %" in result.stderr
    assert "the pin is set (kubectl iv unpin news-sentiment takes it away)" in result.stderr


def test_who_waits_is_told_why_the_version_is_not_ready(iv, cluster, monkeypatch):
    monkeypatch.setattr(wait, "PATIENCE_S", 0)
    version = next(v for v in cluster.objects["inferenceversions"] if v["spec"]["version"] == "2.4.0")
    why = {"status": "True", "reason": "ImageNotPulled", "message": "pod p: fetch: no such image"}
    version["status"]["conditions"] = [{"type": "Reconciling", **why}]
    cluster.after_patch = reconciled(stable="2.4.1", phase="Progressing")
    result = iv("rollback", "news-sentiment", "2.4.0", "--timeout", "0.3")
    assert result.stderr.count("0 s: version 2.4.0: ImageNotPulled: pod p: fetch: no such image") == 1
    assert "after 0.3 s: version 2.4.0: ImageNotPulled: pod p: fetch: no such image; the pin is set" in result.stderr


def test_an_operator_that_does_not_react_is_told(iv, cluster, monkeypatch):
    monkeypatch.setattr(wait, "SILENCE_S", 0)
    result = iv("rollback", "news-sentiment", "2.4.0", "--timeout", "0.3")
    assert result.exit_code == 1
    assert result.stderr.count("0 s: the operator has not reacted yet: does it run? kubectl get pods -A -l app") == 1
    assert (
        "the pin is set (kubectl iv unpin news-sentiment takes it away), but the operator has not reacted"
        in result.stderr
    )


def test_rollback_waits_for_a_status_of_the_new_spec(iv, cluster):
    cluster.endpoint()["status"]["stable"] = "2.4.0"  # as it was before the patch
    assert iv("rollback", "news-sentiment", "2.4.0", "--timeout", "0.3").exit_code == 1


def test_rollback_that_stalls_is_given_up_at_once(iv, cluster):
    conditions = [{"type": "Stalled", "status": "True", "reason": "VersionNotFound", "message": "no such version"}]
    cluster.after_patch = reconciled(stable="2.4.1", phase="Stalled", conditions=conditions)
    result = iv("rollback", "news-sentiment", "2.4.0")
    assert result.exit_code == 1
    assert "endpoint news-sentiment is stalled: no such version" in result.stderr


# ---- where Git owns the endpoint ----


@pytest.fixture
def in_git(cluster):
    cluster.endpoint()["metadata"]["annotations"] = {
        "argocd.argoproj.io/tracking-id": "news:inferenceversion.io/InferenceEndpoint:news/news-sentiment"
    }
    return cluster


def test_the_change_to_make_in_git_is_printed(iv, in_git):
    result = iv("rollback", "news-sentiment", "2.4.0")
    assert (result.exit_code, in_git.patches) == (1, [])
    assert yaml.safe_load(result.stdout)["spec"] == {"version": "2.4.0"}
    assert "Argo CD (Application/news) owns endpoint news-sentiment" in result.stderr


@pytest.mark.parametrize(
    ("args", "spec"), [(("pause",), {"paused": True}), (("rollback", "2.4.0", "--dry-run"), {"version": "2.4.0"})]
)
def test_so_do_the_others(iv, in_git, args, spec):
    result = iv(args[0], "news-sentiment", *args[1:])
    assert (result.exit_code, in_git.patches) == (1, [])
    assert yaml.safe_load(result.stdout)["spec"] == spec


def test_unpin_in_git_says_what_to_remove(iv, in_git):
    in_git.endpoint()["spec"]["version"] = "2.4.0"
    result = iv("unpin", "news-sentiment")
    assert result.exit_code == 1
    assert "and remove spec.version" in result.stderr


def test_force_goes_against_git_and_says_what_will_happen(iv, in_git):
    in_git.after_patch = reconciled()
    result = iv("rollback", "news-sentiment", "2.4.0", "--force")
    assert result.exit_code == 0
    assert "will undo this at its next sync" in result.stderr


# ---- pause, resume, unpin ----


def test_pause_and_resume(iv, cluster):
    assert iv("pause", "news-sentiment").stdout == "endpoint news-sentiment is paused now\n"
    assert iv("pause", "news-sentiment").stdout == "endpoint news-sentiment is paused\n"
    assert iv("resume", "news-sentiment", "--dry-run").stdout == "endpoint news-sentiment would move on\n"
    assert iv("resume", "news-sentiment").stdout == "endpoint news-sentiment moves on\n"
    assert [patch for _, _, patch in cluster.patches] == [{"spec": {"paused": True}}, {"spec": {"paused": False}}]
    assert json.loads(iv("resume", "news-sentiment", "-o", "json").stdout)["changed"] is False


def test_unpin(iv, cluster):
    assert iv("unpin", "news-sentiment").stdout == "endpoint news-sentiment has no pin\n"
    cluster.endpoint()["spec"]["version"] = "2.4.1"
    dry = iv("unpin", "news-sentiment", "--dry-run")
    first, how = dry.stdout.splitlines()
    assert first == "endpoint news-sentiment would no longer be pinned to 2.4.1: 2.4.2 is wanted then"
    assert how.startswith("version 2.4.2: it is released by traffic.strategy ShadowThenCanary: shadow of 10 %")
    assert cluster.patches == []
    assert iv("unpin", "news-sentiment").exit_code == 0
    assert cluster.patches[0][2] == {"spec": {"version": None}}
    assert "version" not in cluster.endpoint()["spec"]


def test_unpin_says_that_the_version_somebody_went_back_from_returns(iv, cluster):
    endpoint = cluster.endpoint()
    endpoint["spec"]["version"] = endpoint["status"]["stable"] = "2.4.0"
    _, _, then = iv("unpin", "news-sentiment", "--dry-run").stdout.splitlines()
    assert then == (
        "if its release fails, then 2.4.1 is wanted: it was stable before, so it takes over at once and no gate is "
        "asked; to stay on 2.4.0: kubectl iv rollback news-sentiment 2.4.0"
    )
    endpoint["spec"]["paused"] = True
    _, paused = iv("unpin", "news-sentiment", "--dry-run").stdout.splitlines()
    assert paused == "the endpoint is paused: nothing moves until kubectl iv resume news-sentiment"


# ---- what goes wrong with the cluster ----


def test_no_kubeconfig(iv):
    for args in (("status",), ("rollback", "x", "1.0.0"), ("diff", "a", "b")):
        result = iv(*args)
        assert (result.exit_code, result.stdout) == (3, "")
        assert "KUBECONFIG" in result.stderr


def test_a_bad_kubeconfig(iv, tmp_path, monkeypatch):
    for text in ("{", "- 1", "apiVersion: v1\nkind: Config\n", "just text"):
        (tmp_path / "bad").write_text(text)
        result = iv("status", "--kubeconfig", tmp_path / "bad")
        assert result.exit_code == 3, text
        assert result.stderr.startswith("error: ")


def test_an_unknown_context(iv, cluster):
    result = iv("status", "--context", "nowhere")
    assert result.exit_code == 3
    assert "nowhere" in result.stderr


def test_a_cluster_that_is_down(iv, api, tmp_path):
    kubeconfig = api.kubeconfig(tmp_path / "kubeconfig")
    api.close()
    result = iv("status", "--kubeconfig", kubeconfig)
    assert result.exit_code == 3
    assert f"cluster {api.url} can't be reached" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    api._server.server_close = api._server.shutdown = lambda: None


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ((403, {"message": "inferenceendpoints is forbidden: User x cannot list"}), 3, "403 Forbidden: inferenceendpoints is forbidden"),
        ((401, {"message": "Unauthorized"}), 3, "401 Unauthorized"),
        ((404, "404 page not found\n"), 3, "install the CRDs"),
        ((500, {"message": "etcd leader changed"}), 3, "etcd leader changed"),
        ((422, {"message": "spec.version: Invalid value"}), 1, "the API server refuses: spec.version"),
    ],
)  # fmt: skip
def test_what_the_api_server_answers(iv, cluster, answer, code, said):
    cluster.refuse = answer
    result = iv("pause", "news-sentiment")
    assert result.exit_code == code
    assert said in result.stderr


# ---- completion ----


def test_kubectl_asks_for_completion(cluster, capsys, monkeypatch):
    for name in ("_KUBECTL_IV_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(name, "")  # what main sets does not outlive the test

    def complete(*words):
        monkeypatch.setattr("sys.argv", ["kubectl_complete-iv", *words])
        kubectl_complete.main()
        said = capsys.readouterr()
        assert said.err == ""
        return said.out.splitlines()

    assert complete("ro") == ["rollback", ":4"]
    assert complete("abort", "news-sentiment", "2.4.") == ["2.4.0", "2.4.1", "2.4.2", ":4"]
    assert complete("status", "") == ["news-sentiment", ":4"]
    assert complete("rollback", "news-sentiment", "2.4") == ["2.4.0", "2.4.1", "2.4.2", ":4"]
    cluster.refuse = (500, "no")
    assert complete("status", "") == [":4"]


def test_the_goldens_objects_are_as_the_crds_want_them():
    from inferenceversion_operator.api.schema import validate

    for obj in yaml.safe_load_all((GOLDEN / "news.yaml").read_text()):
        plain = deepcopy(obj)
        assert validate(plain) == [], obj["metadata"]["name"]
