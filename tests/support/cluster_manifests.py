"""Versions to apply: the file of ``examples/``, with what the test changes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "inferenceversion.yaml"
IMAGE_FOLDER = ROOT / "images" / "triton-sentiment"
HASHES = IMAGE_FOLDER / "HASHES.json"
Object = dict[str, Any]


def sentiment(
    version: str, image: str, *, name: str = "", endpoint: str = "news", variant: str = "good", **spec: Any
) -> Object:
    """Return a version of the news-sentiment service, small enough for a test.

    Args:
        version: ``spec.version``.
        image: of images/triton-sentiment, by digest.
        name: of the object; ``<endpoint>-<version>`` unless given.
        endpoint: what it is a version of.
        variant: whose hashes; the image holds the good one, the others are loaded from ``FileServer.model(variant)``.
        spec: merged into the spec, mappings key by key; None removes a key.
    """
    obj: Object = deepcopy(_example())
    hashes = _hashes()[variant]
    obj["metadata"] = {"name": name or f"{endpoint}-{version}"}
    small = {
        "endpoint": endpoint,
        "version": version,
        "model": {"weightHash": hashes["weightHash"], "opset": hashes["opset"]},
        "preprocessor": {"configHash": hashes["preprocessor"]},
        "postprocessor": {"configHash": hashes["postprocessor"]},
        "runtime": {"image": image, "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}},
        "triton": {
            "maxBatchSize": 4,  # the warm-up runs a full batch
            "dynamicBatching": {"preferredBatchSizes": [4], "maxQueueDelay": "1ms"},
            "instanceGroup": {"count": 1},
            "parameters": {"intra_op_threads": "1"},
        },
        "guardrails": {"timeout": "3s"},
    }
    obj["spec"] = merged(merged(obj["spec"], small), spec)
    return obj


def artifact(variant: str) -> dict[str, bytes]:
    """Build a variant of the artifact; return its files."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "artifact"
        prepare = [sys.executable, str(IMAGE_FOLDER / "prepare.py"), "--out", str(out), "--variant", variant]
        subprocess.run(prepare, check=True, capture_output=True)
        return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> Object:
    """Return ``one`` with ``other`` laid over it, as a JSON merge patch does."""
    out: Object = dict(one)
    for key, value in other.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, Mapping):
            out[key] = merged(out[key] if isinstance(out.get(key), Mapping) else {}, value)
        else:
            out[key] = value
    return out


@cache
def _example() -> Object:
    document: Object = yaml.safe_load(EXAMPLE.read_text())
    return document


@cache
def _hashes() -> dict[str, dict[str, Any]]:
    hashes: dict[str, dict[str, Any]] = json.loads(HASHES.read_text())
    return hashes
