"""How the models of an ensemble are joined: contract tensors outside, the graph's own tensors inside."""

from collections.abc import Iterator

from inferenceversion_operator.core.objects.prototext import Field, entry
from inferenceversion_operator.core.objects.repository import ONLY_VERSION, RepositoryModel, Step


def ensemble_scheduling(models: list[RepositoryModel]) -> Iterator[Field]:
    """Yield the steps; ``models`` is the ensemble and its inner models in the order of the data."""
    inner = [model for model in models if model.step is not Step.ENSEMBLE]
    for position, model in enumerate(inner):
        first, last = position == 0, position == len(inner) - 1
        yield "step", _step(model, "" if first else f"{model.step}.in.", "" if last else _handover(inner, position))


def _handover(inner: list[RepositoryModel], position: int) -> str:
    """Return the prefix of the tensors that go from one step to the next, so that none meets a contract tensor."""
    return f"{inner[position + 1].step}.in."


def _step(model: RepositoryModel, inputs: str, outputs: str) -> Iterator[Field]:
    yield "model_name", model.name
    yield "model_version", ONLY_VERSION
    yield from (("input_map", entry(tensor.name, inputs + tensor.name)) for tensor in model.inputs)
    yield from (("output_map", entry(tensor.name, outputs + tensor.name)) for tensor in model.outputs)
