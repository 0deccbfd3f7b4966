"""verify: files and graph against the manifest."""

import json

import pytest

from inferenceversion_operator.api.content_hash import hash_file, hash_tree

onnx = pytest.importorskip("onnx")
GRAPH_IN = [
    {"name": "input_ids", "datatype": "INT64", "shape": [-1]},
    {"name": "attention_mask", "datatype": "INT64", "shape": [-1]},
]
GRAPH_OUT = [{"name": "logits", "datatype": "FP32", "shape": [3]}]


def a_graph(opset=17, batch="batch", last=3, valid=True):
    """ids + mask -> logits through a cast, a sum and a matrix product."""
    helper, types = onnx.helper, onnx.TensorProto
    ids = helper.make_tensor_value_info("input_ids", types.INT64, [batch, "length"])
    mask = helper.make_tensor_value_info("attention_mask", types.INT64, [batch, "length"])
    logits = helper.make_tensor_value_info("logits", types.FLOAT, [batch, last])
    weights = helper.make_tensor("w", types.FLOAT, [1, last], [1.0] * last)
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["kept"]),
        helper.make_node("Cast", ["kept"], ["numbers"], to=types.FLOAT),
        helper.make_node("ReduceMean", ["numbers"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("MatMul" if valid else "NoSuchOperator", ["mean", "w"], ["logits"]),
    ]
    graph = helper.make_graph(nodes, "g", [ids, mask], [logits], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def artifact(tmp_path):
    folder = tmp_path / "artifact"
    for part in ("preprocessor", "postprocessor"):
        (folder / part).mkdir(parents=True)
        (folder / part / "config.json").write_text(part)
    onnx.save(a_graph(), folder / "model.onnx")
    return folder


@pytest.fixture
def verify(iv, files, a_manifest, artifact):
    """Verify the artifact against a manifest that fits, but for the changes."""

    def run(changes=None, *args, path=artifact):
        fits = {
            "spec.model.weightHash": hash_tree(artifact, ["preprocessor", "postprocessor"]),
            "spec.preprocessor.configHash": hash_tree(artifact / "preprocessor"),
            "spec.postprocessor.configHash": hash_tree(artifact / "postprocessor"),
            "spec.model.inputs": GRAPH_IN,
            "spec.model.outputs": GRAPH_OUT,
        }
        manifest = files("v.yaml", a_manifest(fits | (changes or {})))
        result = iv("verify", "-f", manifest, "--artifact", path, "-o", "json", *args)
        assert result.exit_code in (0, 1), result.stderr
        checks = {check["check"]: check for check in json.loads(result.stdout)}
        failed = {name: check["message"] for name, check in checks.items() if check["result"] == "FAILED"}
        assert (result.exit_code == 1) is bool(failed)
        return checks, failed

    return run


def test_what_fits(verify):
    checks, failed = verify()
    assert failed == {}
    hashes = ["model.weightHash", "preprocessor.configHash", "postprocessor.configHash"]
    assert list(checks) == [*hashes, "onnx", "model.opset", "model.inputs", "model.outputs"]


def test_one_byte_more(verify, artifact):
    (artifact / "preprocessor" / "config.json").write_text("preprocessor2")
    (artifact / "vocab.txt").write_text("new")
    _, failed = verify(
        {"spec.preprocessor.configHash": "sha256:" + "1" * 64, "spec.model.weightHash": "sha256:" + "2" * 64}
    )
    assert failed.keys() == {"model.weightHash", "preprocessor.configHash"}
    assert "expected sha256:1111" in failed["preprocessor.configHash"]


def test_a_part_that_is_not_there(verify):
    _, failed = verify({"spec.preprocessor.path": "tokenizer"})
    assert failed["preprocessor.configHash"] == "there is no tokenizer among the files"


def test_the_opset(verify):
    _, failed = verify({"spec.model.opset": 15})
    assert failed == {"model.opset": "the manifest says 15, model.onnx has opset 17"}


@pytest.mark.parametrize(
    ("changes", "check", "said"),
    [
        ({"spec.model.inputs": GRAPH_IN[:1]}, "model.inputs", "attention_mask of the graph is not declared"),
        ({"spec.model.inputs": [*GRAPH_IN, {"name": "token_type_ids", "datatype": "INT64", "shape": [-1]}]}, "model.inputs", "the graph has no token_type_ids (it has attention_mask, input_ids)"),
        ({"spec.model.inputs": [GRAPH_IN[1], {"name": "input_ids", "datatype": "INT32", "shape": [-1]}]}, "model.inputs", "input_ids is INT64 in the graph, not INT32"),
        ({"spec.model.inputs": [GRAPH_IN[1], {"name": "input_ids", "datatype": "INT64", "shape": [-1, 2]}]}, "model.inputs", "input_ids has shape [-1] in the graph, not [-1, 2]"),
        ({"spec.model.outputs": [{"name": "logits", "datatype": "FP32", "shape": [2]}]}, "model.outputs", "logits has shape [3] in the graph, not [2]"),
        ({"spec.model.outputs": [{"name": "logits", "datatype": "FP32", "shape": [-1]}]}, "model.outputs", "logits has shape [3] in the graph, not [-1]"),
        ({"spec.triton.maxBatchSize": 0, "spec.triton.dynamicBatching": None}, "model.outputs", "logits has shape [-1, 3] in the graph, not [3]"),
    ],
)  # fmt: skip
def test_inputs_and_outputs(verify, changes, check, said):
    _, failed = verify(changes)
    assert said in failed[check]


def test_a_fixed_size_fits_a_free_dimension(verify):
    fixed = [GRAPH_IN[1], {"name": "input_ids", "datatype": "INT64", "shape": [64]}]
    assert verify({"spec.model.inputs": fixed})[1] == {}


def test_a_graph_without_a_free_batch_dimension(verify, artifact):
    onnx.save(a_graph(batch=1), artifact / "model.onnx")
    assert "input_ids has no free batch dimension" in verify()[1]["model.inputs"]


def test_a_graph_that_code_of_its_own_calls_is_not_compared(verify):
    checks, failed = verify({"spec.model.inputs": None, "spec.model.outputs": None})
    assert failed == {}
    assert checks["graph"]["result"] == "skipped"


def test_a_graph_that_triton_runs_itself_is_compared_with_the_contract(verify):
    _, failed = verify({"spec.model.inputs": None, "spec.model.outputs": None, "spec.triton.backend": "onnxruntime"})
    assert failed.keys() == {"contract.inputs", "contract.outputs"}


@pytest.mark.parametrize("content", [b"", b"not onnx", None])
def test_a_graph_that_is_none(verify, artifact, content):
    if content is None:
        onnx.save(a_graph(valid=False), artifact / "model.onnx")
    else:
        (artifact / "model.onnx").write_bytes(content)
    _, failed = verify()
    assert failed.keys() == {"onnx"}
    assert failed["onnx"].startswith("model.onnx: ")


def test_no_graph_at_all(verify, artifact):
    (artifact / "model.onnx").rename(artifact / "model.bin")
    assert "no .onnx file in" in verify()[1]["onnx"]


def test_a_single_file(verify, artifact):
    file = artifact / "model.onnx"
    changes = {"spec.preprocessor": None, "spec.postprocessor": None, "spec.model.weightHash": hash_file(file)}
    assert verify(changes, path=file)[1] == {}


def test_other_formats_have_no_graph_to_look_into(verify):
    changes = {"spec.model.format": "python", "spec.model.opset": None}
    assert verify(changes)[0]["graph"]["message"] == "only format onnx is looked into, not python"


def test_the_table_and_the_choice_of_one(iv, files, a_manifest, artifact):
    both = files("both.yaml", a_manifest(name="one"), a_manifest({"spec.version": "2.5.0"}, name="two"))
    result = iv("verify", "-f", both, "--artifact", artifact)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "choose one by --name: one, two" in result.stderr
    result = iv("verify", "-f", both, "--artifact", artifact, "--name", "two")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].split() == ["CHECK", "RESULT", "MESSAGE"]
    assert "no InferenceVersion three" in iv("verify", "-f", both, "--artifact", artifact, "--name", "three").stderr
    assert iv("verify", "-f", both, "--artifact", artifact / "nope").exit_code == 2
