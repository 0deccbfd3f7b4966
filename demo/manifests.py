"""The versions of the story: the files of ``examples/``, with what the demo changes; pure but for reading them."""

import json
import re
from typing import Any

import yaml

from demo.cluster import ROOT

Object = dict[str, Any]

ENDPOINT = "news-sentiment"
FIRST, NEXT, BAD = "2.4.0", "2.4.1", "2.4.2"
EXAMPLES = {FIRST: "examples/inferenceversion.yaml", NEXT: "examples/inferenceversion-2.4.1.yaml"}
# Where the image holds the variant "tokenizer": the same weights, another config of the tokenizer.
_VARIANT = "tokenizer"
_VARIANT_FOLDER = "image:///opt/news-sentiment-tokenizer"
_HASHES = "images/triton-sentiment/HASHES.json"
_PLACEHOLDER = re.compile(r"^(\s*image:\s+)\S+/triton-sentiment@sha256:0{64}$", re.MULTILINE)

# The example's 80 and 100 ms are for a machine of its own. Here a whole cluster, two versions and the client share two
# processors: what a request waits for is mostly one of them.
SLO = {"p95": "1s", "p99": "2s", "errorRate": "0.1%"}
IMMEDIATE = {"strategy": "Immediate"}
# Each stage lasts a little longer than its requests take to come at 20 a second, so that its verdicts are seen.
_SHADOW = {
    "percent": 100,
    "minDuration": "10s",
    "minRequests": 100,
    "maxMismatch": "1%",
    "tolerance": {"absolute": "0.001"},
}
_STEPS = [
    {"weight": 20, "minDuration": "15s", "minRequests": 40},
    {"weight": 50, "minDuration": "10s", "minRequests": 50},
]
STEPWISE = {
    "strategy": "ShadowThenCanary",
    "interval": "1s",
    "shadow": _SHADOW,
    "canary": {"steps": _STEPS, "maxLatencyRatio": "10"},
}


def name_of(version: str) -> str:
    """Return the name of a version's InferenceVersion."""
    return f"{ENDPOINT}-{version}"


def with_image(manifest: str, image: str) -> str:
    """Put a real image where the example has a placeholder.

    Raises:
        ValueError: the example has no placeholder: it and the demo are not of one age.
    """
    text, count = _PLACEHOLDER.subn(rf"\g<1>{image}", manifest)
    if count != 1:
        raise ValueError(f"{count} placeholders of the image instead of one")
    return text


def make_first(image: str) -> Object:
    """Return 2.4.0: the example as it is."""
    return _example(FIRST, image)


def make_next(image: str, traffic: Object) -> Object:
    """Return 2.4.1, which answers as 2.4.0 does, released by ``traffic``."""
    obj = _example(NEXT, image)
    obj["spec"] |= {"slo": dict(SLO), "traffic": traffic}
    return obj


def make_bad(image: str) -> Object:
    """Return 2.4.2: as 2.4.1, but somebody changed the config of the tokenizer."""
    hashes = json.loads((ROOT / _HASHES).read_text("utf-8"))[_VARIANT]
    obj = make_next(image, STEPWISE)
    obj["metadata"]["name"] = name_of(BAD)
    obj["spec"]["version"] = BAD
    obj["spec"]["model"] |= {"source": _VARIANT_FOLDER, "weightHash": hashes["weightHash"]}
    obj["spec"]["preprocessor"] = {"version": "v3.3.0", "configHash": hashes["preprocessor"]}
    return obj


def as_file(obj: Object) -> str:
    """Return the manifest as a file to read, to apply and to change."""
    version = obj["spec"]["version"]
    origin = EXAMPLES.get(version, EXAMPLES[NEXT])
    return f"# Written by make demo, from {origin}.\n{yaml.safe_dump(obj, sort_keys=False, width=120)}"


def _example(version: str, image: str) -> Object:
    obj: Object = yaml.safe_load(with_image((ROOT / EXAMPLES[version]).read_text("utf-8"), image))
    return obj
