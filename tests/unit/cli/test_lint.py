"""lint: every problem with its place, alone and together."""

import json

import pytest
import yaml

from tests.unit.cli.conftest import GOLDEN, MANIFEST, ROOT

BAD = """\
apiVersion: inferenceversion.io/v1alpha1
kind: InferenceVersion
metadata: {name: news-2.4.0}
spec:
  endpoint: news
  version: v2.4.0
  model:
    name: news
    framework: onnx_1.23.2
    format: onnx
    opset: 17
    source: image:///opt/news
    weightHash: sha256:edd7
  runtime:
    image: triton:latest
    resource: {limits: {memory: 2Mi}}
  contract:
    inputs:
      - {name: TEXT, datatype: BYTES, shape: [0]}
    outputs:
      - {name: LABEL, datatype: BYTES, shape: [1]}
  slo:
    p95: 80ms
    p95: 90ms
"""


@pytest.fixture
def bad(tmp_path, monkeypatch):
    """A file with a problem a line, named relative to the folder that the command runs in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text(BAD)
    return "bad.yaml"


@pytest.mark.parametrize("form", ["table", "json", "yaml", "github"])
def test_all_problems_at_once_each_with_file_line_object_and_field(iv, bad, golden, form):
    result = iv("lint", "-f", bad, "-o", form)
    assert result.exit_code == 1
    golden(GOLDEN / "lint" / f"problems.{form}.txt", result.stdout)
    assert result.stderr.startswith("1 object: 6 errors")


def test_lines_are_right(iv, bad):
    lines = BAD.splitlines()
    for finding in json.loads(iv("lint", "-f", bad, "-o", "json").stdout):
        last = finding["field"].split(".")[-1].split("[")[0]
        assert last in lines[finding["line"] - 1] or finding["field"] == "spec.runtime.resource"


def test_the_examples_are_clean_but_for_their_placeholders(iv):
    result = iv("lint", "-f", ROOT / "examples")
    assert result.exit_code == 0
    assert "0 errors" in result.stderr
    assert all(": warning: " in line and "is a placeholder" in line for line in result.stdout.splitlines())
    assert json.loads(iv("lint", "-f", MANIFEST, "-o", "json").stdout) == []


def test_warnings_fail_only_when_asked(iv, files, a_manifest):
    path = files("v.yaml", a_manifest({"spec.runtime.resources": None}))
    result = iv("lint", "-f", path)
    assert result.exit_code == 0
    assert ": warning: InferenceVersion/news-sentiment-2.4.0: spec.runtime.resources.limits" in result.stdout
    assert iv("lint", "-f", path, "--strict").exit_code == 1


def test_gates_are_checked_as_far_as_that_goes_without_a_prometheus(iv, files, a_manifest):
    gates = [{"name": "p95", "promql": "up", "max": "1"}, {"name": "own", "promql": "up{a='{{ nmae }}'}", "max": "1"}]
    canary = {"strategy": "Canary", "canary": {"steps": [{"weight": 10}]}, "gates": gates}
    result = iv("lint", "-f", files("v.yaml", a_manifest({"spec.traffic": canary})))
    assert result.exit_code == 0
    taken, unknown = result.stdout.splitlines()
    assert "spec.traffic.gates[0].name: p95 is a gate of the operator's own: choose another name" in taken
    assert (
        "spec.traffic.gates[1].promql: promql has the placeholder {{ nmae }}, which there is not: known are" in unknown
    )


def test_two_objects_with_one_version_of_an_endpoint(iv, files, a_manifest):
    first = files("a.yaml", a_manifest())
    second = files("b.yaml", a_manifest({"spec.version": "2.4.0+build.7"}, name="again"))
    elsewhere = files("c.yaml", a_manifest(name="again", namespace="other"))
    result = iv("lint", "-f", first, "-f", second, elsewhere)
    assert result.exit_code == 1
    (line,) = result.stdout.splitlines()
    assert line.startswith(f"{second}:")
    assert "error: InferenceVersion/again: spec.version" in line
    assert "that of news-sentiment-2.4.0 already" in line


def test_one_object_in_two_files(iv, files, a_manifest):
    result = iv("lint", "-f", files("a.yaml", a_manifest()), files("b.yaml", a_manifest()))
    assert result.exit_code == 1
    assert "the same object is in" in result.stdout


def test_a_pin_to_what_is_not_there_is_a_warning(iv, files, a_manifest):
    endpoint = {
        "apiVersion": "inferenceversion.io/v1alpha1",
        "kind": "InferenceEndpoint",
        "metadata": {"name": "news-sentiment"},
        "spec": {"version": "2.3.0"},
    }
    result = iv("lint", "-f", files("a.yaml", a_manifest(), endpoint))
    assert result.exit_code == 0
    assert "warning: InferenceEndpoint/news-sentiment: spec.version: pins 2.3.0" in result.stdout
    endpoint["spec"]["version"] = "2.4.0"
    assert iv("lint", "-f", files("a.yaml", a_manifest(), endpoint)).stdout == ""


def test_of_our_group_but_not_our_kind(iv, files):
    result = iv(
        "lint", "-f", files("a.yaml", {"apiVersion": "inferenceversion.io/v1alpha1", "kind": "InferenceVerison"})
    )
    assert result.exit_code == 1
    assert "unknown kind 'InferenceVerison'" in result.stdout


@pytest.mark.parametrize(
    "broken", [{"metadata": None}, {"metadata": []}, {"spec": None}, {"spec": "x"}, {"spec": {"model": 1}}]
)
def test_no_shape_of_an_object_is_a_traceback(iv, files, a_manifest, broken):
    result = iv("lint", "-f", files("a.yaml", a_manifest() | broken))
    assert result.exit_code == 1
    assert result.stdout.startswith(str(files("a.yaml", a_manifest())))


def test_github_annotations_are_escaped(iv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = yaml.safe_dump(yaml.safe_load(MANIFEST.read_text()) | {"kind": "Inference\nVersion"})
    (tmp_path / "a,b.yaml").write_text(text)
    (line,) = iv("lint", "-f", "a,b.yaml", "-o", "github").stdout.splitlines()
    assert line.startswith("::error file=a%2Cb.yaml,line=")


def test_types_are_told_with_a_hint(iv, bad, tmp_path):
    (tmp_path / "bad.yaml").write_text(BAD.replace("version: v2.4.0", "version: 2.4"))
    assert "spec.version: must be of type string, not number: version must be SemVer" in iv("lint", "-f", bad).stdout
