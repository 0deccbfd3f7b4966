"""Triton's model repository of a version: which models there are, what each is called and where its files go.

``triton_config`` writes a ``config.pbtxt`` for each of them and ``fetch_plan`` lays out their files.
"""

from dataclasses import dataclass
from enum import StrEnum

from inferenceversion_operator.api.types import InferenceVersion, Pipeline, Tensor

ONLY_VERSION = 1  # the version directory; a release is a new pod, never a second directory

_BACKENDS = {
    "onnx": "onnxruntime",
    "torchscript": "pytorch",
    "tensorrt": "tensorrt",
    "savedmodel": "tensorflow",
    "python": "python",
    "vllm": "vllm",
}
# What Triton looks for in the version directory when the source is one file.
_FILE_NAMES = {
    "onnx": "model.onnx",
    "torchscript": "model.pt",
    "tensorrt": "model.plan",
    "savedmodel": "saved_model.pb",
    "python": "model.py",
    "vllm": "model.json",
}

# What a backend opens in the version directory. Without model.py the Python backend waits for ever and says nothing.
_ENTRIES = {
    "onnxruntime": "model.onnx",
    "pytorch": "model.pt",
    "tensorrt": "model.plan",
    "tensorflow": "model.savedmodel",
    "python": "model.py",
    "vllm": "model.json",
}


class Step(StrEnum):
    """What a model does in the pipeline of its version."""

    SINGLE = "single"
    ENSEMBLE = "ensemble"
    PRE = "pre"
    MODEL = "model"
    POST = "post"


@dataclass(frozen=True, slots=True)
class RepositoryModel:
    """One directory below ``/models``."""

    name: str
    step: Step
    config_key: str  # of the ConfigMap
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def version_dir(self) -> str:
        return f"{self.name}/{ONLY_VERSION}"


def backend_of(version: InferenceVersion) -> str:
    """Return Triton's backend for the weights: the one asked for, else the format's own."""
    return version.triton.backend or _BACKENDS.get(version.model.format, version.model.format)


def file_name_of(version: InferenceVersion) -> str:
    """Return what a source that is one single file must be called."""
    return _FILE_NAMES.get(version.model.format, version.model.format)


def entries_of(version: InferenceVersion) -> list[str]:
    """Return the files below ``/models`` without which Triton can't load the version; none for backends of others."""
    entries = []
    for model in repository_models(version):
        if model.step is not Step.ENSEMBLE:
            backend = "python" if model.step in (Step.PRE, Step.POST) else backend_of(version)
            entries += [f"{model.version_dir}/{_ENTRIES[backend]}"] if backend in _ENTRIES else []
    return entries


def repository_models(version: InferenceVersion) -> list[RepositoryModel]:
    """Return the models of the version; the one that clients call comes first."""
    name = version.model.name
    if version.triton.pipeline is Pipeline.SINGLE:
        return [RepositoryModel(name, Step.SINGLE, "config.pbtxt", version.inputs, version.outputs)]
    graph_in = version.model.inputs or version.inputs
    graph_out = version.model.outputs or version.outputs
    models = [_inner(name, Step.MODEL, graph_in, graph_out)]
    if version.preprocessor:
        models.insert(0, _inner(name, Step.PRE, version.inputs, graph_in))
    if version.postprocessor:
        models.append(_inner(name, Step.POST, graph_out, version.outputs))
    return [RepositoryModel(name, Step.ENSEMBLE, f"{name}.config.pbtxt", version.inputs, version.outputs), *models]


def _inner(name: str, step: Step, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> RepositoryModel:
    own = f"{name}_{step}"
    return RepositoryModel(own, step, f"{own}.config.pbtxt", inputs, outputs)
