"""digest, hash, render and what all commands do with files."""

import json
import subprocess
import sys
import tarfile

import pytest
import yaml

from inferenceversion_operator.api import content_hash as operators
from inferenceversion_operator.api.digest import snapshot_digest
from tests.unit.cli.conftest import MANIFEST, ROOT

HASH = "sha256:" + "1" * 64


# ---- files ----


def test_other_kinds_are_skipped_with_a_note(iv, files, a_manifest):
    path = files("all.yaml", {"kind": "ConfigMap"}, a_manifest(), {"kind": "ConfigMap"}, {"kind": "Secret"})
    result = iv("digest", "-f", path)
    assert result.exit_code == 0
    assert result.stdout.count("sha256:") == 1
    assert f"note: {path}: skipped objects of other kinds: 2 ConfigMap, 1 Secret" in result.stderr


def test_stdin_and_lists_as_kubectl_prints_them(iv, a_manifest):
    listed = {"apiVersion": "v1", "kind": "List", "items": [a_manifest(), a_manifest({"spec.version": "2.5.0"})]}
    result = iv("digest", "-f", "-", input=json.dumps(listed))
    assert result.stdout.count("news-sentiment-2.4.0") == 2


def test_a_folder_is_read_to_the_bottom(iv, files, a_manifest):
    folder = files("deploy/a/one.yaml", a_manifest(name="one")).parent.parent
    files("deploy/b/two.yml", a_manifest(name="two"))
    (folder / "README.md").write_text("no: [yaml")
    result = iv("digest", "-f", folder)
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("a: [1, 2\nb: 3", 1, "not YAML: line 2"),
        ("- just\n- a list\n", 1, "not an object but list"),
        ("kind: ConfigMap\n", 1, "no InferenceVersion in"),
        ("", 1, "no InferenceVersion in"),
        (
            "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e, *e]\n",
            1,
            "aliases of aliases",
        ),
        ("a: &a [*a]\n", 1, "aliases of aliases"),
        ("a: !!python/object:os.system x\n", 1, "not YAML"),
        ("[" * 5000, 1, "not YAML"),
    ],
)
def test_a_bad_file_is_told_in_a_line(iv, tmp_path, text, code, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    result = iv("digest", "-f", path)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_files_that_cannot_be_read_are_a_wrong_command_line(iv, tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").mkdir()
    for name in ("missing.yaml", "binary.yaml", "empty"):
        result = iv("lint", "-f", tmp_path / name)
        assert result.exit_code == 2
        assert name in result.stderr
    assert iv("lint", "-f", "-", "-").exit_code == 2
    assert iv("lint").exit_code == 2


# ---- digest ----


def test_digest_is_the_operators(iv, a_manifest):
    result = iv("digest", "-f", MANIFEST)
    assert result.stdout == f"{snapshot_digest(a_manifest()['spec'])}  news-sentiment-2.4.0\n"
    (view,) = json.loads(iv("digest", "-f", MANIFEST, "-o", "json").stdout)
    assert view["digest"] == snapshot_digest(a_manifest()["spec"])
    assert yaml.safe_load(iv("digest", "-f", MANIFEST, "-o", "yaml").stdout) == [view]


def test_no_digest_of_what_the_api_server_would_refuse(iv, files, a_manifest):
    path = files("bad.yaml", a_manifest({"spec.model.weightHash": "sha256:abc", "spec.slo.p95": "fast"}))
    result = iv("digest", "-f", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "InferenceVersion/news-sentiment-2.4.0: spec.model.weightHash" in result.stderr
    assert "spec.slo.p95" in result.stderr


# ---- hash ----


@pytest.fixture
def artifact(tmp_path):
    folder = tmp_path / "model"
    for name in ("model.onnx", "preprocessor/tokenizer.json", "preprocessor/é", "postprocessor/a b", "preprocessor-2"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * 3)
    return folder


def test_hashes_are_those_that_fetch_checks(iv, artifact):
    result = iv("hash", artifact, "--preprocessor", "preprocessor", "--postprocessor", "postprocessor")
    assert yaml.safe_load(result.stdout) == {
        "model": {"weightHash": operators.hash_tree(artifact, ["preprocessor", "postprocessor"])},
        "preprocessor": {"configHash": operators.hash_tree(artifact / "preprocessor")},
        "postprocessor": {"configHash": operators.hash_tree(artifact / "postprocessor")},
    }
    assert result.stderr == ""


def test_hash_of_a_folder_is_what_the_documented_pipeline_prints(iv, artifact):
    pipeline = r"find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum"
    by_hand = subprocess.run(["sh", "-c", pipeline], cwd=artifact, capture_output=True, text=True, check=True).stdout
    result = iv("hash", artifact, "-o", "json")
    assert json.loads(result.stdout) == {"model": {"weightHash": f"sha256:{by_hand.split()[0]}"}}
    assert "add --preprocessor preprocessor" in result.stderr


def test_hash_of_a_file_is_sha256sums(iv, artifact):
    result = iv("hash", artifact / "model.onnx")
    assert result.stdout == f"model:\n  weightHash: {operators.hash_file(artifact / 'model.onnx')}\n"


def test_a_part_elsewhere_is_printed_with_its_path(iv, artifact):
    result = iv("hash", artifact, "--preprocessor", "preprocessor-2")
    part = yaml.safe_load(result.stdout)["preprocessor"]
    assert part == {"path": "preprocessor-2", "configHash": operators.hash_file(artifact / "preprocessor-2")}


def test_what_has_no_hash_is_refused(iv, artifact, tmp_path):
    assert "--preprocessor: there is no nope in" in iv("hash", artifact, "--preprocessor", "nope").stderr
    (artifact / "link").symlink_to("model.onnx")
    result = iv("hash", artifact)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "link is neither a regular file nor a folder" in result.stderr
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz"):
        pass
    assert "unpack it" in iv("hash", tmp_path / "model.tar.gz").stderr
    assert iv("hash", tmp_path / "missing").exit_code == 2


# ---- render ----


def objects_of(result):
    assert result.exit_code == 0, result.stderr
    return list(yaml.safe_load_all(result.stdout))


def test_render_prints_what_the_operator_makes(iv):
    args = ("--guard-image", f"envoy@{HASH}", "--fetch-image", f"operator@{HASH}", "-n", "news")
    endpoint = ROOT / "examples" / "inferenceendpoint.yaml"
    result = iv("render", "-f", MANIFEST, endpoint, *args)
    kinds = [obj["kind"] for obj in objects_of(result)]
    expected = ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "Service", "HTTPRoute", "GRPCRoute"]
    assert sorted(kinds) == sorted(expected)
    assert {obj["metadata"]["namespace"] for obj in objects_of(result)} == {"news"}
    assert "ownerReferences" not in result.stdout
    assert result.stderr == ""
    listed = json.loads(iv("render", "-f", MANIFEST, endpoint, *args, "-o", "json").stdout)
    assert listed["items"] == objects_of(result)


def test_render_without_settings_says_which_are_missing(iv):
    result = iv("render", "-f", MANIFEST)
    assert "HTTPRoute" not in result.stdout
    assert "guard-image-not-set" in result.stdout
    assert "set --guard-image and --fetch-image" in result.stderr


def test_render_takes_the_operators_variables(iv):
    env = {"IVO_GUARD_IMAGE": "envoy:1", "IVO_FETCH_IMAGE": "operator:1", "IVO_GATEWAY_DOMAIN": "example.org"}
    result = iv("render", "-f", MANIFEST, "--gateway", "gw/inference", env=env)
    route = next(obj for obj in objects_of(result) if obj["kind"] == "HTTPRoute")
    assert route["spec"]["hostnames"] == ["news-sentiment.default.example.org"]
    assert route["spec"]["parentRefs"][0]["namespace"] == "gw"
    assert "image: envoy:1" in result.stdout
    assert result.stderr == ""


def test_render_keeps_the_owner_of_what_comes_from_a_cluster(iv, files, a_manifest):
    path = files("live.yaml", a_manifest(uid="uid-1", namespace="prod"))
    deployment = next(obj for obj in objects_of(iv("render", "-f", path)) if obj["kind"] == "Deployment")
    assert deployment["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert deployment["metadata"]["namespace"] == "prod"


def test_render_refuses_what_it_cannot_read(iv, files, a_manifest):
    assert iv("render", "-f", MANIFEST, "--gateway", "inference").exit_code == 2
    assert iv("render", "-f", files("bad.yaml", a_manifest({"spec.version": "v1"}))).exit_code == 1
    assert iv("render", "-f", ROOT / "examples" / "inferenceendpoint.yaml").exit_code == 1


# ---- the whole ----


def test_help_of_every_command_has_examples_and_no_colour(iv):
    from inferenceversion_operator.cli.app import OFFLINE, ON_CLUSTER

    overview = iv("--help").stdout
    for name in (*ON_CLUSTER, *OFFLINE):
        assert name in overview
        result = iv(name, "--help")
        assert result.exit_code == 0
        assert f"kubectl iv {name}" in result.stdout
        assert "\x1b" not in result.stdout


def test_version_and_bare_call(iv):
    from inferenceversion_operator import __version__

    assert iv("--version").stdout == f"{__version__}\n"
    assert "Usage" in iv().output
    assert iv("nonsense").exit_code == 2


def without_the_extra(module):
    code = f"import sys; sys.modules['typer'] = None; from inferenceversion_operator.cli.{module} import main; main()"
    env = {"PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_an_install_without_the_extra_says_so():
    said = "typer is not installed: pip install 'inferenceversion-operator[cli]'\n"
    assert without_the_extra("__main__") == (2, "", said)


def test_an_install_without_the_extra_completes_nothing():
    assert without_the_extra("kubectl_complete") == (0, ":4\n", "")
