"""The example version in the cluster: applied with the image that was built here, followed until it serves."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from demo.cluster import ROOT, Cluster, CommandFailedError

NAMESPACE = "default"
EXAMPLE = "examples/inferenceversion.yaml"
NEXT_EXAMPLE = "examples/inferenceversion-2.4.1.yaml"
ENDPOINT = "news-sentiment"
NAME = "news-sentiment-2.4.0"
_PLACEHOLDER = re.compile(r"^(\s*image:\s+)\S+/triton-sentiment@sha256:0{64}$", re.MULTILINE)
_PATIENCE_S = 240.0

Say = Callable[[str], None]


class NotServingError(Exception):
    """The version did not get to serve in time; the message says what was seen last."""


def with_image(manifest: str, image: str) -> str:
    """Put a real image where the example has a placeholder.

    Raises:
        ValueError: the example has no placeholder: it and the demo are not of one age.
    """
    text, count = _PLACEHOLDER.subn(rf"\g<1>{image}", manifest)
    if count != 1:
        raise ValueError(f"{count} placeholders of the image instead of one")
    return text


def apply_example(cluster: Cluster, image: str, say: Say) -> None:
    """Apply the example; one that an older build of the image left behind is replaced."""
    manifest = with_image((ROOT / EXAMPLE).read_text(), image)
    say(f"kubectl apply -f {EXAMPLE}, with the image that was built here instead of the placeholder:\n  {image}")
    try:
        cluster.kubectl("apply", f"--namespace={NAMESPACE}", "-f", "-", stdin=manifest)
    except CommandFailedError as refusal:
        if "immutable" not in str(refusal):
            raise
        say(f"{NAME} is there with an older build of the image; a snapshot is immutable, so it is made anew")
        remove_versions(cluster)
        cluster.kubectl("apply", f"--namespace={NAMESPACE}", "-f", "-", stdin=manifest)


def remove_versions(cluster: Cluster) -> None:
    """Delete every version of the demo's endpoint, the one that serves included."""
    for name in _versions(cluster):
        disabled = "inferenceversion.io/delete-protection=disabled"
        cluster.kubectl("annotate", f"--namespace={NAMESPACE}", "iv", name, disabled, "--overwrite")
        cluster.kubectl("delete", f"--namespace={NAMESPACE}", "iv", name, "--wait")


def follow(cluster: Cluster, say: Say) -> str:
    """Say each condition as it changes until the version is Ready; return its digest.

    Raises:
        NotServingError: it isn't Ready in time.
    """
    began = time.monotonic()
    told: dict[str, str] = {}
    while time.monotonic() - began < _PATIENCE_S:
        status = _status(cluster, "iv", NAME)
        for line in news(status, told):
            say(f"{time.monotonic() - began:5.1f} s  {line}")
        ready = next((c for c in status.get("conditions", ()) if c["type"] == "Ready"), None)
        if ready and ready["status"] == "True":
            return str(status["snapshotDigest"])
        time.sleep(0.3)
    raise NotServingError(f"{NAME} is not Ready after {_PATIENCE_S:.0f} s: {'; '.join(told.values())}")


def news(status: Mapping[str, Any], told: dict[str, str]) -> Iterator[str]:
    """Yield a line for each condition that is not as it was told before, and remember it."""
    for condition in status.get("conditions", ()):
        line = f"{condition['type']:<16}{condition['status']:<8} {condition['message']}"
        if condition["status"] == "Unknown" or condition["type"] == "Reconciling":
            continue  # nothing to tell yet; what Ready says anyway
        if told.get(condition["type"]) != line:
            told[condition["type"]] = line
            yield line


def endpoint_host(cluster: Cluster) -> str:
    """Return the hostname of the endpoint's URL."""
    url = str(_status(cluster, "iep", ENDPOINT)["url"])
    return url.partition("://")[2].strip("/")


def _versions(cluster: Cluster) -> list[str]:
    found = json.loads(cluster.kubectl("get", f"--namespace={NAMESPACE}", "iv", "-o", "json"))["items"]
    return [item["metadata"]["name"] for item in found if item["spec"]["endpoint"] == ENDPOINT]


def _status(cluster: Cluster, kind: str, name: str) -> dict[str, Any]:
    text = cluster.kubectl("get", f"--namespace={NAMESPACE}", kind, name, "-o", "json")
    status: dict[str, Any] = json.loads(text).get("status", {})
    return status
