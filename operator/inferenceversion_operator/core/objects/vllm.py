"""What Triton's vLLM backend takes and gives, whatever the model; it must be in the config, nothing completes it."""

from inferenceversion_operator.api.types import Tensor

REQUIRED = "text_input"

_INPUTS = (
    Tensor("text_input", "BYTES", (1,)),
    Tensor("stream", "BOOL", (1,)),
    Tensor("sampling_parameters", "BYTES", (1,)),
    Tensor("exclude_input_in_output", "BOOL", (1,)),
)
_OUTPUTS = (Tensor("text_output", "BYTES", (-1,)),)


def vllm_inputs(contract: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the contract's inputs and those of the backend that it does not name."""
    return _completed(contract, _INPUTS)


def vllm_outputs(contract: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the contract's outputs and those of the backend that it does not name."""
    return _completed(contract, _OUTPUTS)


def _completed(contract: tuple[Tensor, ...], own: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    named = {tensor.name for tensor in contract}
    return (*contract, *(tensor for tensor in own if tensor.name not in named))
