"""Triton's ``config.pbtxt`` of every model of a version, and the files that its warm-up reads.

The values come from validated fields; the text format is written by ``prototext``, so none can break out of it.
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from inferenceversion_operator.api.types import InferenceVersion, Tensor
from inferenceversion_operator.core.objects.ensemble import ensemble_scheduling
from inferenceversion_operator.core.objects.prototext import Enum, Field, entry, to_text
from inferenceversion_operator.core.objects.repository import (
    ONLY_VERSION,
    RepositoryModel,
    Step,
    backend_of,
    repository_models,
)
from inferenceversion_operator.core.objects.vllm import REQUIRED, vllm_inputs, vllm_outputs

ENSEMBLE_KEEP_KEY = "ensemble.keep"
WARMUP_TEXT = "warm up"
# What stands for -1 in a warm-up sample; a model that takes any length takes this one.
WARMUP_ANY_SIZE = 16
# The strings of all samples are in the ConfigMap, which holds 1 MiB; whoever takes more is not warmed up.
WARMUP_STRINGS_MAX = 16_384

_DATATYPES = {"BYTES": "TYPE_STRING"}  # every other datatype is TYPE_ and its own name
_ACCELERATED = ("onnxruntime", "tensorflow")  # backends that hand subgraphs to TensorRT when asked


class WarmupFile(NamedTuple):
    """The strings of a warm-up sample: Triton cannot make them up, zero and random data are for numbers."""

    key: str  # of the ConfigMap
    name: str  # below the model's warmup/ folder
    content: str


def make_triton_configs(version: InferenceVersion) -> dict[str, str]:
    """Return what the ConfigMap holds for Triton: a config a model, and the small files that go beside them."""
    configs: dict[str, str] = {}
    for model in repository_models(version):
        configs[model.config_key] = to_text(_config(version, model))
        if model.step is Step.ENSEMBLE:
            configs[ENSEMBLE_KEEP_KEY] = ""
        for file in warmup_files(version, model):
            configs[file.key] = file.content
    return configs


def without_warmup(version: InferenceVersion) -> list[str]:
    """Return the models that get no warm-up samples, though it is on: no inputs are declared, or they are too large."""
    if not version.triton.warmup:
        return []
    own = [model for model in repository_models(version) if model.step is not Step.ENSEMBLE]
    return [m.name for m in own if _backend(version, m) != "vllm" and not _warms_up(version, m)]


def warmup_files(version: InferenceVersion, model: RepositoryModel) -> list[WarmupFile]:
    """Return the warm-up files of the model: one for each number of strings that an input takes."""
    if not _warms_up(version, model):
        return []
    return [_warmup_file(count) for count in sorted(_string_counts(version, model))]


def _string_counts(version: InferenceVersion, model: RepositoryModel) -> set[int]:
    return {prod(_sample_dims(version, tensor)) for tensor in model.inputs if tensor.datatype == "BYTES"}


def _warmup_file(count: int) -> WarmupFile:
    """Return ``count`` strings as Triton wants them: four bytes of length, little-endian, before each."""
    element = len(WARMUP_TEXT).to_bytes(4, "little").decode("ascii") + WARMUP_TEXT
    return WarmupFile(f"warmup-strings-{count}", f"strings-{count}", element * count)


def _config(version: InferenceVersion, model: RepositoryModel) -> Iterator[Field]:
    yield "name", model.name
    if model.step is Step.ENSEMBLE:
        yield "platform", "ensemble"
    else:
        yield "backend", _backend(version, model)
    yield "max_batch_size", version.triton.max_batch_size
    yield "version_policy", [("specific", [("versions", ONLY_VERSION)])]
    yield from _tensors(version, model)
    if model.step is Step.ENSEMBLE:
        yield "ensemble_scheduling", ensemble_scheduling(repository_models(version))
    else:
        yield "instance_group", _instance_group(version, model)
        yield from _batching(version, model)
        yield from _optimization(version, model)
        yield from _decoupled(version, model)
    yield from (("parameters", entry(key, [("string_value", value)])) for key, value in _parameters(version, model))
    yield from _warmup(version, model)
    yield "response_cache", [("enable", False)]


def _backend(version: InferenceVersion, model: RepositoryModel) -> str:
    return "python" if model.step in (Step.PRE, Step.POST) else backend_of(version)


def _tensors(version: InferenceVersion, model: RepositoryModel) -> Iterator[Field]:
    """Yield inputs and outputs."""
    inputs, outputs = model.inputs, model.outputs
    optional: list[Field] = []
    if _backend(version, model) == "vllm":
        inputs, outputs, optional = vllm_inputs(inputs), vllm_outputs(outputs), [("optional", True)]
    for tensor in inputs:
        yield "input", [*_tensor(tensor), *(optional if tensor.name != REQUIRED else [])]
    for tensor in outputs:
        yield "output", _tensor(tensor)


def _tensor(tensor: Tensor) -> Iterator[Field]:
    yield "name", tensor.name
    yield "data_type", _data_type(tensor)
    yield from (("dims", size) for size in tensor.shape or (1,))
    if not tensor.shape:  # Triton wants one dimension at least, and takes it away again
        yield "reshape", []


def _data_type(tensor: Tensor) -> Enum:
    return Enum(_DATATYPES.get(tensor.datatype, f"TYPE_{tensor.datatype}"))


def _instance_group(version: InferenceVersion, model: RepositoryModel) -> list[Field]:
    kind = version.triton.instance_kind
    if model.step in (Step.PRE, Step.POST):
        kind = "KIND_CPU"
    elif _backend(version, model) == "vllm" and kind == "KIND_AUTO":
        kind = "KIND_MODEL"  # the backend places itself
    return [("count", version.triton.instance_count), ("kind", Enum(kind))]


def _batching(version: InferenceVersion, model: RepositoryModel) -> Iterator[Field]:
    """Yield the dynamic batcher; what waits in its queue longer than the guard does is refused, not worked on.

    A model without batches gets it for that alone: with one request at a time there is nothing to batch.
    """
    wanted = version.triton.max_queue_delay_ms is not None or version.triton.preferred_batch_sizes
    unbatched = version.triton.max_batch_size <= 1 and _backend(version, model) != "vllm"
    if not wanted and not unbatched:
        return
    queue_policy: list[Field] = [
        ("timeout_action", Enum("REJECT")),
        ("default_timeout_microseconds", version.guardrails.timeout_ms * 1000),
    ]
    sizes = version.triton.preferred_batch_sizes
    delay: list[Field] = [("max_queue_delay_microseconds", round((version.triton.max_queue_delay_ms or 0) * 1000))]
    yield (
        "dynamic_batching",
        [
            *(("preferred_batch_size", size) for size in sizes),
            *(delay if wanted else []),
            ("default_queue_policy", queue_policy),
        ],
    )


def _optimization(version: InferenceVersion, model: RepositoryModel) -> Iterator[Field]:
    precision = version.triton.tensorrt_precision
    if precision and _backend(version, model) in _ACCELERATED:
        accelerator: list[Field] = [("name", "tensorrt"), ("parameters", entry("precision_mode", precision))]
        yield "optimization", [("execution_accelerators", [("gpu_execution_accelerator", accelerator)])]


def _decoupled(version: InferenceVersion, model: RepositoryModel) -> Iterator[Field]:
    if _backend(version, model) == "vllm":
        yield "model_transaction_policy", [("decoupled", True)]


def _parameters(version: InferenceVersion, model: RepositoryModel) -> list[tuple[str, str]]:
    """Return the parameters in the order of their names; ours win over the user's."""
    if model.step is Step.ENSEMBLE:
        return []
    parameters = dict(version.triton.parameters)
    if model.step in (Step.SINGLE, Step.PRE) and version.preprocessor and version.preprocessor.config_hash:
        parameters["preprocessor_config_hash"] = version.preprocessor.config_hash
    if model.step in (Step.SINGLE, Step.POST) and version.postprocessor and version.postprocessor.config_hash:
        parameters["postprocessor_config_hash"] = version.postprocessor.config_hash
    entry_step = Step.PRE if version.preprocessor else Step.MODEL  # where the client's tensors are seen first
    if model.step in (Step.SINGLE, entry_step) and version.guardrails.max_feature_count is not None:
        parameters["max_feature_count"] = str(version.guardrails.max_feature_count)
    return sorted(parameters.items())


def _warms_up(version: InferenceVersion, model: RepositoryModel) -> bool:
    """Say whether Triton warms the model up; vLLM does so itself, and an ensemble is its models."""
    able = model.step is not Step.ENSEMBLE and _backend(version, model) != "vllm"
    wanted = version.triton.warmup and able and bool(model.inputs)
    return wanted and sum(_string_counts(version, model)) <= WARMUP_STRINGS_MAX


def _warmup(version: InferenceVersion, model: RepositoryModel) -> Iterator[Field]:
    """Yield a sample for one request and one for a full batch: the two shapes that are slow the first time."""
    if not _warms_up(version, model):
        return
    for size in sorted({1, max(1, version.triton.max_batch_size)}):
        inputs = [("inputs", entry(tensor.name, _sample(version, tensor))) for tensor in model.inputs]
        yield "model_warmup", [("name", f"batch of {size}"), ("batch_size", size), *inputs]


def _sample(version: InferenceVersion, tensor: Tensor) -> Iterator[Field]:
    dims = _sample_dims(version, tensor)
    yield "data_type", _data_type(tensor)
    yield from (("dims", size) for size in dims)
    if tensor.datatype == "BYTES":
        yield "input_data_file", _warmup_file(prod(dims)).name
    else:
        yield "zero_data", True  # a valid index everywhere; random numbers are not


def _sample_dims(version: InferenceVersion, tensor: Tensor) -> tuple[int, ...]:
    limit = version.guardrails.max_feature_count or WARMUP_ANY_SIZE
    any_size = 1 if tensor.datatype == "BYTES" else min(WARMUP_ANY_SIZE, limit)
    return tuple(size if size > 0 else any_size for size in tensor.shape or (1,))
