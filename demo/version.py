"""Versions made and taken away on the cluster, and the states that the acts begin with."""

import json

from demo.cluster import Cluster, CommandFailedError
from demo.endpoint import NAMESPACE, Look
from demo.manifests import BAD, ENDPOINT, FIRST, IMMEDIATE, NEXT, make_first, make_next, name_of
from demo.say import clock, say
from demo.scene import condition_lines
from demo.stage import Stage

_READY_S = 240.0
_SETTLE_S = 120.0
_UNPROTECTED = "inferenceversion.io/delete-protection=disabled"


def remove_versions(cluster: Cluster) -> None:
    """Delete every version of the demo's endpoint, the one that serves included, and the endpoint with its history."""
    found = json.loads(cluster.kubectl("get", f"--namespace={NAMESPACE}", "iv", "-o", "json"))["items"]
    _delete(cluster, [item["metadata"]["name"] for item in found if item["spec"]["endpoint"] == ENDPOINT])
    place = (f"--namespace={NAMESPACE}", "--ignore-not-found", "--wait", "--timeout=60s")
    cluster.kubectl("delete", "iep", ENDPOINT, *place)


def begin(stage: Stage) -> None:
    """Let 2.4.0 serve, and nothing have happened before."""
    seen = stage.endpoint.look()
    if seen and told_before(seen):
        say("the demo was here before: its versions and their history are deleted, and the story begins anew")
        remove_versions(stage.cluster)
    manifest = make_first(stage.image)
    try:
        stage.apply(manifest)
    except CommandFailedError as refusal:
        if "immutable" not in str(refusal):
            raise
        say(f"{name_of(FIRST)} is there with an older build of the image; a snapshot is immutable, so it is made anew")
        remove_versions(stage.cluster)
        stage.apply(manifest)
    say_when = clock()

    def tell(before: Look | None, now: Look) -> None:
        earlier = before.object_of(FIRST) if before else None
        for line in condition_lines(earlier or {}, now.object_of(FIRST) or {}):
            say_when(line)

    def serves(seen: Look) -> bool:
        version = seen.version(FIRST)
        return seen.at_rest and version is not None and version.role == "Stable" and version.reason == "Ready"

    stage.endpoint.wait(f"{FIRST} gets Ready", serves, _READY_S, tell)


def told_before(seen: Look) -> bool:
    """Say whether the endpoint has more behind it than 2.4.0 taking over: a version that served once takes no steps."""
    versions = {version.version for version in seen.view.versions}
    outcomes = {entry["version"] for entry in seen.history}
    return bool((versions | outcomes) - {FIRST} or seen.view.pin or seen.view.paused or len(seen.history) > 1)


def let_first_serve(stage: Stage) -> None:
    """Have 2.4.0 serve and 2.4.1 unknown, as a release by steps needs."""
    seen = stage.endpoint.look()
    if seen is None or told_before(seen) or not seen.at_rest:
        begin(stage)


def let_any_serve(stage: Stage) -> None:
    """Have a version at rest that is not pinned, and no 2.4.2."""
    seen = stage.endpoint.look()
    if seen is None or seen.view.stable not in (FIRST, NEXT):
        begin(stage)
        return
    tidy(stage, BAD)
    if seen.view.pin:
        say(f"$ kubectl iv unpin {ENDPOINT}")
        stage.iv("unpin", ENDPOINT, f"--namespace={NAMESPACE}")
    stage.endpoint.wait("the endpoint comes to rest", lambda look: look.at_rest, _SETTLE_S)


def let_next_serve(stage: Stage) -> None:
    """Have 2.4.1 serve, and 2.4.0 warm; without steps, since this is not what is shown."""
    let_any_serve(stage)
    seen = stage.endpoint.look()
    if seen is None or seen.version(FIRST) is None:
        begin(stage)
    elif seen.view.stable == FIRST:
        tidy(stage, NEXT)
    if seen is None or seen.view.stable != NEXT:
        say(f"{NEXT} takes over at once (traffic.strategy Immediate): its steps are another act")
        stage.apply(make_next(stage.image, IMMEDIATE))

    def warm(look: Look) -> bool:
        first = look.version(FIRST)
        return look.at_rest and look.view.stable == NEXT and first is not None and first.ready_replicas > 0

    stage.endpoint.wait(f"{NEXT} serves and {FIRST} is warm", warm, _READY_S)


def tidy(stage: Stage, *versions: str) -> list[str]:
    """Delete these versions and those that are half released; return which there were."""
    seen = stage.endpoint.look()
    found = [v for v in seen.view.versions if v.version in versions or v.role == "Candidate"] if seen else []
    _delete(stage.cluster, [version.name for version in found])
    return [version.version for version in found]


def _delete(cluster: Cluster, names: list[str]) -> None:
    if names:
        place = f"--namespace={NAMESPACE}"
        cluster.kubectl("annotate", place, "iv", *names, _UNPROTECTED, "--overwrite")
        cluster.kubectl("delete", place, "iv", *names, "--wait", "--timeout=60s")
