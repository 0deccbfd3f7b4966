"""The version of ``builders`` cut to the least, for the tests of what goes into its pod (guard, configs, fetch plan)."""

from dataclasses import replace
from typing import Any

from inferenceversion_operator.api.types import Guardrails, InferenceVersion, Model, Part, Runtime, Tensor, Triton
from tests.support.builders import a_version

DIGEST = "sha256:" + "5d" * 32
WEIGHTS = "sha256:" + "a1" * 32
PREPROCESSOR = "sha256:" + "b2" * 32
POSTPROCESSOR = "sha256:" + "c3" * 32

PLAIN = a_version(
    "2.4.1",
    name="news-sentiment-2.4.1",
    uid="0d1f5ca1-0000-4000-8000-000000000001",
    endpoint="news-sentiment",
    model=Model("news_sentiment", "numpy_2", "python", "image:///opt/model", WEIGHTS),
    preprocessor=None,
    postprocessor=None,
    runtime=Runtime("registry.example/triton@sha256:" + "e4" * 32),
    triton=Triton(max_batch_size=8),
    guardrails=Guardrails(max_request_bytes=2 << 20, timeout_ms=5000),
    outputs=(Tensor("LABEL", "BYTES", (1,)), Tensor("SCORE", "FP32", (3,))),
    digest=DIGEST,
)
PARTS = {
    "preprocessor": Part("v3.2.1", "preprocessor", PREPROCESSOR),
    "postprocessor": Part("score_calibrator_v1.0.0", "postprocessor", POSTPROCESSOR),
}


def version(**changes: Any) -> InferenceVersion:
    """Return the plain version with changes; those of a nested view are given as a dict of its fields."""
    nested = {
        name: replace(getattr(PLAIN, name), **value) for name, value in changes.items() if isinstance(value, dict)
    }
    return replace(PLAIN, **(changes | nested))
