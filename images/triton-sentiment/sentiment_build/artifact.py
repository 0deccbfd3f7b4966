"""Writes the artifact: the folder that is mounted as a version folder of a Triton model."""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sentiment_build.graph import OPSET, HeadWeights, assemble
from sentiment_build.sources import encoder_bytes, tokenizer_json
from sentiment_build.variants import VARIANTS, Variant

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "model"), str(ROOT / "model" / "preprocessor")]

from folder_hash import content_hash  # noqa: E402

PARTS = ("preprocessor", "postprocessor")
HEAD_FILE = ROOT / "head.json"
_MODEL_FILES = ("folder_hash.py", "sentiment_pipeline.py", "serving_config.py")


@dataclass(frozen=True)
class Hashes:
    """The identity of an artifact, each ``sha256:<hex>``, and the opset of its graph."""

    weightHash: str  # noqa: N815 - the names of the InferenceVersion's fields
    preprocessor: str
    postprocessor: str
    opset: int

    def as_dict(self) -> dict[str, str | int]:
        """Return the fields by name, in their order."""
        return asdict(self)


def hashes_of(artifact: Path, opset: int = OPSET) -> Hashes:
    """Return the hashes of an artifact folder, whoever built it."""
    return Hashes(
        weightHash=content_hash(artifact, without=PARTS),
        preprocessor=content_hash(artifact / "preprocessor"),
        postprocessor=content_hash(artifact / "postprocessor"),
        opset=opset,
    )


def build(out: Path, variant_name: str) -> Hashes:
    """Write the artifact of a variant into the new folder ``out``.

    Raises:
        FileExistsError: ``out`` exists and is not empty.
        KeyError: there is no such variant.
    """
    variant = VARIANTS[variant_name]
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty")
    head: dict[str, Any] = json.loads(HEAD_FILE.read_text("utf-8"))
    _write_model(out, head, variant)
    write_steps(out, head["calibrator"], tokenizer_json(), variant.preprocessor)
    return hashes_of(out)


def write_steps(out: Path, calibrator: object, tokenizer: str, overrides: Mapping[str, object] | None = None) -> None:
    """Write ``preprocessor/`` and ``postprocessor/`` below ``out``."""
    for part, code in zip(PARTS, ("preprocess.py", "postprocess.py"), strict=True):
        (out / part).mkdir(parents=True)
        shutil.copyfile(ROOT / "model" / part / code, out / part / code)
    config = json.loads((ROOT / "model" / "preprocessor" / "config.json").read_text("utf-8"))
    config.update(overrides or {})
    write_json(out / "preprocessor" / "config.json", config)
    (out / "preprocessor" / "tokenizer.json").write_bytes(tokenizer.encode())
    write_json(out / "postprocessor" / "calibrator.json", calibrator)


def write_code(out: Path, variant: Variant = VARIANTS["good"]) -> None:
    """Write the Triton entry and the modules beside it."""
    out.mkdir(parents=True, exist_ok=True)
    for name in _MODEL_FILES:
        shutil.copyfile(ROOT / "model" / name, out / name)
    if variant.entry is None:
        shutil.copyfile(ROOT / "model" / "model.py", out / "model.py")
        return
    shutil.copyfile(ROOT / "model" / "model.py", out / "product_model.py")
    shutil.copyfile(ROOT / "variants" / variant.entry / "model.py", out / "model.py")
    shutil.copyfile(ROOT / "variants" / "fault.py", out / "fault.py")
    write_json(out / "fault.json", dict(variant.fault))


def write_json(path: Path, value: object) -> None:
    """Write sorted, indented JSON with a final newline: the same bytes everywhere."""
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    path.write_bytes(text.encode())


def _write_model(out: Path, head: dict[str, Any], variant: Variant) -> None:
    write_code(out, variant)
    weights = HeadWeights(
        weights=np.array(head["weights"], dtype=np.float32),
        bias=np.array(head["bias"], dtype=np.float32),
    )
    (out / "model.onnx").write_bytes(assemble(encoder_bytes(), weights))
    write_json(out / "labels.json", head["labels"])
