"""Reads what Triton says about the model (its config as JSON) into typed settings.

Pure: a dictionary in, ``Settings`` out, or a ``LoadRefused`` that names the field.
"""

from collections.abc import Mapping
from typing import Any

from sentiment_pipeline import INPUT, OUTPUTS, PARTS, LoadRefused, Settings

_DTYPES = {INPUT: "TYPE_STRING", "LABEL": "TYPE_STRING", "SCORES": "TYPE_FP32"}


def read_settings(config: Mapping[str, Any]) -> Settings:
    """Return the settings of a model configuration after checking its inputs and outputs.

    Raises:
        LoadRefused: names or datatypes are not those served, or a parameter is no number.
    """
    _check_tensors("input", config.get("input", []), (INPUT,))
    _check_tensors("output", config.get("output", []), OUTPUTS)
    parameters = {
        name: str(value.get("string_value", "")) for name, value in dict(config.get("parameters", {})).items()
    }
    hashes = {part: parameters.get(f"{part}_config_hash", "") for part in PARTS}
    return Settings(
        expected_hashes={part: value for part, value in hashes.items() if value},
        max_feature_count=_number(parameters, "max_feature_count", Settings.max_feature_count, least=1),
        intra_op_threads=_number(parameters, "intra_op_threads", Settings.intra_op_threads, least=0),
    )


def _check_tensors(side: str, tensors: list[Mapping[str, Any]], served: tuple[str, ...]) -> None:
    found = {str(tensor.get("name", "")): str(tensor.get("data_type", "")) for tensor in tensors}
    if set(found) != set(served):
        raise LoadRefused(f"config.pbtxt names the {side}s {sorted(found)}, this model serves {sorted(served)}")
    for name, dtype in found.items():
        if dtype != _DTYPES[name]:
            raise LoadRefused(f"config.pbtxt gives {side} {name} the type {dtype}, this model serves {_DTYPES[name]}")


def _number(parameters: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = parameters.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise LoadRefused(f"parameter {name} is {text!r}, not a whole number of at least {least}")
    return int(text)
