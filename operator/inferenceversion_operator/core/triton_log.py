"""Finds the cause in the tail of a log that a container left as its termination message.

Triton runs with ``--log-info=false``: its tables of options and models would fill the 2 KiB that the kubelet keeps,
and push out the one line that says why.
"""

import re

_LIMIT = 1000  # ONNX Runtime says the supported opset at the end of 800
# glog prefix of tritonserver: "E1130 10:30:00.123456 1 model_lifecycle.cc:641] "
_PREFIX = re.compile(r'^\[?[EWIF]\d{4} [\d:.]+ \d+ [\w.]+:\d+\]\s*"?')
# The best first: the model's own words, then Triton's about files and configuration, then anything that sounds like it.
_CAUSES = (
    re.compile(r"failed to load '(?P<model>[^']*)' version \d+: (?P<cause>.+)"),
    re.compile(r"Error parsing text-format [\w.]+: (?P<cause>.+)"),
    re.compile(r"Poll failed for model directory '(?P<model>[^']*)': (?P<cause>.+)"),
    re.compile(r"error: creating server: (?P<cause>.+)"),
    # Anchored: tried at every place of a long line, this alone would take a second.
    re.compile(r"^(?P<cause>.*(?:failed|error|exception|critical|not found|no such file).*)", re.IGNORECASE),
)


def load_error(tail: str) -> str:
    """Return what the tail says of the cause, at most 1,000 characters; its last line where nothing sounds like one."""
    lines = [_PREFIX.sub("", line.strip()).rstrip('"') for line in tail.splitlines() if line.strip()]
    for pattern in _CAUSES:
        found = [match for line in lines if (match := pattern.search(line))]
        if found:
            causes = dict.fromkeys(_shown(match) for match in found)
            return " / ".join(causes)[:_LIMIT]
    return lines[-1][:_LIMIT] if lines else ""


def _shown(match: re.Match[str]) -> str:
    # Triton writes the newlines of a Python exception as "\n"; what follows "At:" is its stack.
    cause = re.split(r"\\n\\nAt:", match["cause"])[0].replace("\\n", " ").strip()
    cause = cause.removeprefix("Internal: ").removeprefix("TritonModelException: ")
    model = match.groupdict().get("model")
    return f"model {model}: {cause}" if model else cause
