"""The build: the same bytes every time, valid ONNX, and numbers and hashes written down that are true."""

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import real_triton
from sentiment_build import artifact as layout
from sentiment_build.card import BEGIN, END, render_numbers, rewrite_card
from sentiment_build.sources import SourceChanged, read_checked
from sentiment_build.variants import VARIANTS

IMAGE = real_triton.IMAGE
HASHES = json.loads((IMAGE / "HASHES.json").read_text())
HEAD = json.loads((IMAGE / "head.json").read_text())
prepare = real_triton.prepare


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shell_hash(folder: Path, without: str = "") -> str:
    # The contract as written, and not our own code.
    script = f"find . -type f -printf '%P\\n' {without} | LC_ALL=C sort | xargs -d '\\n' sha256sum -- | sha256sum | cut -c1-64"
    return (
        "sha256:"
        + subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    )


def test_two_builds_give_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        prepare.build(tmp_path / name, "good")
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_hashes_are_those_written_down(variant):
    # Red after a change of the model's code? python images/triton-sentiment/build_model.py --write-hashes
    assert layout.hashes_of(prepare.artifact(variant)).as_dict() == HASHES[variant]


def test_hashes_are_those_of_the_shell(artifact):
    own = "| grep -v -e '^preprocessor/' -e '^postprocessor/'"
    assert shell_hash(artifact, own) == HASHES["good"]["weightHash"]
    assert shell_hash(artifact / "preprocessor") == HASHES["good"]["preprocessor"]
    assert shell_hash(artifact / "postprocessor") == HASHES["good"]["postprocessor"]


def test_variants_differ_from_the_product_where_they_should():
    changed = {
        name: sorted(key for key in hashes if hashes[key] != HASHES["good"][key]) for name, hashes in HASHES.items()
    }
    faults = ("slow", "flaky", "mixed")
    assert changed == {"good": [], "tokenizer": ["preprocessor"], **{name: ["weightHash"] for name in faults}}


def test_the_variants_of_prepare_are_those_of_the_build():
    assert sorted(prepare.VARIANTS) == sorted(VARIANTS)


def test_the_artifact_has_the_layout_that_others_rely_on(artifact):
    assert set(files_of(artifact)) == {
        *("model.py", "model.onnx", "labels.json", "folder_hash.py", "sentiment_pipeline.py", "serving_config.py"),
        *("preprocessor/config.json", "preprocessor/tokenizer.json", "preprocessor/preprocess.py"),
        *("postprocessor/calibrator.json", "postprocessor/postprocess.py"),
    }


def test_the_graph_is_valid_onnx_of_the_stated_opset(artifact):
    model = onnx.load(artifact / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", HASHES["good"]["opset"])]
    signature = [
        (
            value.name,
            onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type),
            [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim],
        )
        for value in (*model.graph.input, *model.graph.output)
    ]
    assert signature == [
        ("input_ids", "INT64", ["batch", "sequence"]),
        ("attention_mask", "INT64", ["batch", "sequence"]),
        ("logits", "FLOAT", ["batch", 3]),
    ]


def test_padding_does_not_change_an_answer(artifact):
    session = onnxruntime.InferenceSession(artifact / "model.onnx", providers=["CPUExecutionProvider"])
    ids = np.array([[101, 3007, 5055, 102]], dtype=np.int64)
    padded = np.pad(ids, ((0, 0), (0, 9)))
    (alone,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    (beside,) = session.run(None, {"input_ids": padded, "attention_mask": (padded > 0).astype(np.int64)})
    assert beside == pytest.approx(alone, abs=1e-5)


def test_the_head_in_the_graph_is_the_trained_one(artifact):
    tensors = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in onnx.load(artifact / "model.onnx").graph.initializer
    }
    assert tensors["head/weights"] == pytest.approx(np.array(HEAD["weights"]), abs=1e-7)
    assert tensors["head/bias"] == pytest.approx(np.array(HEAD["bias"]), abs=1e-7)


def test_the_model_card_has_the_numbers_of_the_training():
    card = (IMAGE / "MODEL_CARD.md").read_text()
    assert f"{BEGIN}\n{render_numbers(HEAD)}\n{END}" in card


def test_the_model_is_better_than_always_the_same_answer():
    assert HEAD["held_out"]["accuracy"] > HEAD["held_out"]["majority"] + 0.1
    assert HEAD["held_out"]["cross_entropy_calibrated"] <= HEAD["held_out"]["cross_entropy_raw"]


def test_a_card_without_markers_is_left_alone(tmp_path):
    (tmp_path / "CARD.md").write_text("# nothing\n")
    with pytest.raises(ValueError, match="no markers"):
        rewrite_card(tmp_path / "CARD.md", HEAD)


def test_other_bytes_of_a_source_stop_the_build(tmp_path):
    (tmp_path / "encoder").write_bytes(b"other")
    with pytest.raises(SourceChanged, match="the build is made for 00"):
        read_checked(tmp_path / "encoder", "00")


def test_prepare_copies_into_an_empty_folder_and_no_other(tmp_path, artifact, capsys):
    assert prepare.main(["--out", str(tmp_path / "out")]) == 0
    assert files_of(tmp_path / "out") == files_of(artifact)
    assert prepare.main(["--out", str(tmp_path / "out")]) == 1
    assert "is not empty" in capsys.readouterr().err
