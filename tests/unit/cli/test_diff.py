"""diff: what differs and whether it counts."""

import json

import pytest

from tests.unit.cli.conftest import GOLDEN, MANIFEST, ROOT

NEXT = ROOT / "examples" / "inferenceversion-2.4.1.yaml"


@pytest.fixture
def differ(iv, files, a_manifest):
    def run(changes, *args, **metadata):
        return iv("diff", files("a.yaml", a_manifest()), files("b.yaml", a_manifest(changes, **metadata)), *args)

    return run


def test_a_change_in_every_part(differ, golden):
    changes = {
        "spec.version": "2.5.0",
        "spec.model.weightHash": "sha256:" + "1" * 64,
        "spec.model.source": "s3://models/news/2.5.0/",
        "spec.preprocessor.version": "v3.3.0",
        "spec.postprocessor": None,
        "spec.runtime.image": "registry.example/triton@sha256:" + "2" * 64,
        "spec.runtime.cuda": "12.4",
        "spec.runtime.nodeSelector": {"pool": "gpu"},
        "spec.triton.dynamicBatching.preferredBatchSizes": [8, 24],
        "spec.contract.outputs": [
            {"name": "SCORES", "datatype": "FP32", "shape": [5]},
            {"name": "LABEL", "datatype": "BYTES", "shape": [1]},
        ],
        "spec.guardrails.timeout": "3s",
        "spec.slo.p99": None,
        "spec.autoscaling": {"minReplicas": 2, "maxReplicas": 4},
        "spec.traffic": {"strategy": "Canary", "canary": {"steps": [{"weight": 5}, {"weight": 50}]}},
    }
    result = differ(changes, name="news-sentiment-2.5.0")
    assert (result.exit_code, result.stderr) == (1, "")
    golden(GOLDEN / "diff" / "a-change-in-every-part.txt", result.stdout)
    golden(GOLDEN / "diff" / "a-change-in-every-part.json", differ(changes, "-o", "json").stdout)


def test_the_same_digest_says_so(differ):
    result = differ({"spec.version": "2.4.9", "spec.autoscaling.minReplicas": 3})
    assert result.exit_code == 0
    assert result.stdout.startswith("same digest: sha256:")
    assert "autoscaling.minReplicas  1 -> 3   (not in the digest)" in result.stdout


def test_another_spelling_is_no_difference(differ):
    spelled = {
        "spec.guardrails.maxRequestSize": "2048Ki",
        "spec.guardrails.timeout": "5000ms",
        "spec.slo.errorRate": "0.10%",
    }
    result = differ(spelled)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)


def test_the_order_of_tensors_is_a_difference_of_its_own(differ, a_manifest):
    outputs = a_manifest()["spec"]["contract"]["outputs"]
    result = differ({"spec.contract.outputs": outputs[::-1]})
    assert result.exit_code == 1
    assert "contract.outputs[]  [LABEL, SCORES] -> [SCORES, LABEL]" in result.stdout


def test_one_of_several_in_a_file(iv, files, a_manifest):
    both = files("both.yaml", a_manifest(name="one"), a_manifest({"spec.version": "2.5.0"}, name="two"))
    assert iv("diff", f"{both}#one", f"{both}#2.5.0").exit_code == 0
    several = iv("diff", both, MANIFEST)
    assert several.exit_code == 2
    assert f"2 InferenceVersions: choose one by {both}#NAME" in several.stderr
    assert iv("diff", f"{both}#three", MANIFEST).exit_code == 1


def test_a_file_that_is_not_there_is_not_looked_for_on_the_cluster(iv):
    result = iv("diff", MANIFEST, "nope.yaml")
    assert result.exit_code == 2
    assert "nope.yaml: No such file or directory" in result.stderr


def test_versions_of_the_cluster(iv, cluster):
    same = iv("diff", "news-sentiment-2.4.0", "news-sentiment-2.4.1")
    assert (same.exit_code, same.stdout.count("\n")) == (0, 1)
    assert iv("diff", "news-sentiment-2.4.0", NEXT).exit_code == 1
    missing = iv("diff", "news-sentiment-9.9.9", NEXT)
    assert missing.exit_code == 1
    assert (
        "no InferenceVersion news-sentiment-9.9.9 in namespace news (there are: news-sentiment-2.4.0" in missing.stderr
    )


def test_json_is_the_view(differ):
    view = json.loads(differ({"spec.guardrails.timeout": "3s"}, "-o", "json").stdout)
    assert view["sameDigest"] is False
    change = {"field": "guardrails.timeout", "a": "5s", "b": "3s", "counts": True}
    assert view["parts"] == [{"part": "guardrails", "changes": [change]}]
