"""The route of sessions that stay on one version during a canary: split by a hash that the client sends.

It uses the Gateway API alone: a regular expression on the last two hex digits, which are one of 256 values. The
candidate has the lowest, so a share that grows keeps what it has: a session moves once at most.
"""

from inferenceversion_operator.api.names import sticky_name
from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.objects.common import Object, endpoint_metadata
from inferenceversion_operator.core.objects.route import (
    API_VERSION,
    Split,
    backend_of_version,
    hostnames,
    match_rule,
    parent_refs,
)
from inferenceversion_operator.core.snapshot import Settings

_VALUES = range(256)


def make_sticky_route(kind: str, endpoint: InferenceEndpoint, split: Split, header: str, settings: Settings) -> Object:
    """Return the route of requests that carry ``header``: one of its own, so that no rule of the other moves."""
    stable, *candidates = split.weights
    taken = round(len(_VALUES) * candidates[0][1] / 100) if candidates else 0
    shares = [(candidates[0][0], _VALUES[:taken])] if taken else []
    shares.append((stable[0], _VALUES[taken:]))
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": endpoint_metadata(endpoint, sticky_name(endpoint.name)),
        "spec": {
            "parentRefs": parent_refs(endpoint, settings),
            "hostnames": hostnames(endpoint, settings, kind),
            "rules": [_rule(kind, version, header, values) for version, values in shares if values],
        },
    }


def _rule(kind: str, version: InferenceVersion, header: str, values: range) -> Object:
    match = {"type": "RegularExpression", "name": header, "value": _ending_in(values)}
    return {"matches": [match_rule(kind) | {"headers": [match]}], "backendRefs": [backend_of_version(kind, version)]}


def _ending_in(values: range) -> str:
    """Return a regular expression (RE2, for the whole value) of hex texts whose last two digits are in a range."""
    if len(values) == len(_VALUES):
        return ".*"
    by_low: dict[str, list[int]] = {}
    for high in range(16):
        low = _digits([value & 15 for value in values if value >> 4 == high])
        if low:
            by_low.setdefault(low, []).append(high)
    parts = [f"{_digits(high)}{low}" for low, high in by_low.items()]
    return f"[0-9a-fA-F]*({'|'.join(parts)})"


def _digits(values: list[int]) -> str:
    """Return a character class of hex digits in both cases; nothing for none."""
    both = "".join(sorted({f"{value:x}" for value in values} | {f"{value:X}" for value in values}))
    return f"[{both}]" if both else ""
