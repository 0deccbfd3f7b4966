"""What ``verify`` finds: the files against the manifest, and the ONNX graph against the contract."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inferenceversion_operator.api.types import InferenceVersion, Pipeline, Tensor


class Result(StrEnum):
    OK = "ok"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    check: str
    result: Result
    message: str


@dataclass(frozen=True, slots=True)
class Graph:
    """What an ONNX file says of itself."""

    file: str
    opset: int | None  # of the default operator set
    inputs: tuple[Tensor, ...]  # with the batch dimension; -1 is any size
    outputs: tuple[Tensor, ...]
    problem: str | None = None  # what the checker has against it


def hashed_parts(version: InferenceVersion) -> dict[str, str]:
    """Return path by name of the parts that have a hash of their own."""
    return {name: part.path for name, part in version.parts.items() if part.config_hash}


def check_hashes(version: InferenceVersion, found: Mapping[str, str | None]) -> Iterator[Check]:
    """Compare the hashes of the manifest with those of the files, by field; None: the part is not there."""
    for field, got in found.items():
        part = version.parts.get(field.partition(".")[0])
        if got is None:
            yield Check(field, Result.FAILED, f"there is no {part.path if part else field} among the files")
        else:
            yield _same(field, str(part.config_hash if part else version.model.weight_hash), got)


def check_graph(version: InferenceVersion, graph: Graph) -> Iterator[Check]:
    """Compare an ONNX graph with the manifest."""
    if graph.problem:
        yield Check("onnx", Result.FAILED, f"{graph.file}: {graph.problem}")
        return
    yield Check("onnx", Result.OK, f"{graph.file}: the full check passes")
    opset = f"{graph.file} has opset {graph.opset}"
    if graph.opset == version.model.opset:
        yield Check("model.opset", Result.OK, opset)
    else:
        yield Check("model.opset", Result.FAILED, f"the manifest says {version.model.opset}, {opset}")
    yield from _check_tensors(version, graph)


def _same(field: str, expected: str, found: str) -> Check:
    if expected == found:
        return Check(field, Result.OK, found)
    return Check(field, Result.FAILED, f"expected {expected}, got {found}")


def _check_tensors(version: InferenceVersion, graph: Graph) -> Iterator[Check]:
    model = version.model
    plain = version.triton.pipeline is Pipeline.SINGLE and version.triton.backend in (None, "onnxruntime")
    if not (model.inputs or model.outputs or plain):
        why = "the graph is called by code of its own: declare model.inputs and model.outputs to have it compared"
        yield Check("graph", Result.SKIPPED, why)
        return
    batched = version.triton.max_batch_size > 0
    inputs = ("model.inputs", model.inputs) if model.inputs else ("contract.inputs", version.inputs)
    outputs = ("model.outputs", model.outputs) if model.outputs else ("contract.outputs", version.outputs)
    yield _compare(*inputs, graph.inputs, batched=batched, all_of_them=True)
    yield _compare(*outputs, graph.outputs, batched=batched, all_of_them=False)


def _compare(
    field: str, declared: Sequence[Tensor], actual: Sequence[Tensor], *, batched: bool, all_of_them: bool
) -> Check:
    """Compare declared tensors with the graph's; outputs may be left out, inputs may not."""
    there = {tensor.name: tensor for tensor in actual}
    problems = []
    for tensor in declared:
        if tensor.name not in there:
            problems.append(f"the graph has no {tensor.name} (it has {', '.join(sorted(there)) or 'none'})")
        else:
            problems += _differences(tensor, there[tensor.name], batched=batched)
    if all_of_them:
        missing = sorted(there.keys() - {tensor.name for tensor in declared})
        problems += [f"{name} of the graph is not declared" for name in missing]
    if problems:
        return Check(field, Result.FAILED, "; ".join(problems))
    return Check(field, Result.OK, ", ".join(_shown(tensor.datatype, tensor.shape, tensor.name) for tensor in declared))


def _differences(declared: Tensor, actual: Tensor, *, batched: bool) -> Iterator[str]:
    if declared.datatype != actual.datatype:
        yield f"{declared.name} is {actual.datatype} in the graph, not {declared.datatype}"
    shape = actual.shape
    if batched:
        if not shape or shape[0] != -1:
            yield f"{declared.name} has no free batch dimension in the graph, and triton.maxBatchSize is above 0"
        shape = shape[1:]
    # A free dimension of the graph takes any size; a fixed one only its own.
    fits = len(shape) == len(declared.shape) and all(a in (-1, d) for a, d in zip(shape, declared.shape, strict=True))
    if not fits:
        yield f"{declared.name} has shape {list(shape)} in the graph, not {list(declared.shape)}"


def _shown(datatype: str, shape: Sequence[int], name: str) -> str:
    return f"{name} {datatype}{list(shape)}"
