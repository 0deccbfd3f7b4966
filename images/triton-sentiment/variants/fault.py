"""How bad a build is: ``fault.json`` beside this file, and over it the parameters of ``config.pbtxt``.

So one artifact serves many stories: a version sets ``triton.parameters: {delay_ms: "400"}``.
"""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils


def read_fault(args: dict[str, str]) -> dict[str, int]:
    """Return the settings of the fault by name, given what Triton hands to ``initialize``.

    Raises:
        TritonModelException: a parameter is no whole number; names it.
    """
    defaults = json.loads((Path(__file__).parent / "fault.json").read_text("utf-8"))
    parameters = json.loads(args["model_config"]).get("parameters", {})
    return {name: _number(name, parameters[name]) if name in parameters else int(defaults[name]) for name in defaults}


def _number(name: str, parameter: dict[str, str]) -> int:
    text = parameter.get("string_value", "")
    if not text.isascii() or not text.isdigit():
        raise pb_utils.TritonModelException(f"parameter {name} is {text!r}, not a whole number")
    return int(text)
