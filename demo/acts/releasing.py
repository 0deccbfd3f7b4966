"""What the two releases have in common: what changed, each look at the release, what the clients saw."""

from collections.abc import Sequence

from demo.endpoint import NAMESPACE, Look, Object, StoryError
from demo.manifests import name_of
from demo.say import clock, say
from demo.scene import changed_fields, ending_lines, obstacle_lines, release_lines
from demo.stage import Stage
from demo.tally import in_words, tally
from demo.traffic import Record


def tell_changes(stage: Stage, old: str, new: str) -> None:
    """Say what is in the snapshot of one version otherwise than in that of the other."""
    words = ("diff", name_of(old), str(stage.file_of(new)))
    say(f"$ kubectl iv {' '.join(words)}")
    diff = stage.iv(*words, f"--namespace={NAMESPACE}", good=(0, 1))
    say("\n".join(f"  {line}" for line in changed_fields(diff)))


def follow(stage: Stage, manifest: Object, outcome: str, within: float) -> None:
    """Apply a version and say what becomes of it, look by look.

    Raises:
        StoryError: it ended otherwise, or not in time.
    """
    version = manifest["spec"]["version"]
    seen = stage.endpoint.look()
    earlier = seen.history if seen else ()
    stage.apply(dict(manifest))
    say_when = clock()
    last: Look | None = None

    def tell(before: Look | None, now: Look) -> None:
        nonlocal last
        last = now if now.view.candidate else last
        lines = release_lines(before.view if before else None, now.view)
        earlier_version = (before.object_of(version) if before else None) or {}
        for line in (*lines, *obstacle_lines(earlier_version, now.object_of(version) or {})):
            say_when(line)

    def ended(look: Look) -> Object | None:
        return next((entry for entry in look.history if entry not in earlier and entry["version"] == version), None)

    entry = stage.endpoint.wait(f"the release of {version}", ended, within, tell)
    for line in ending_lines(last.view if last else None, entry):
        say_when(line)
    if entry["outcome"] != outcome:
        raise StoryError(f"{version} was to be {outcome}, and is {entry['outcome']}: {entry.get('message')}")


def tell_traffic(records: Sequence[Record]) -> None:
    """Say what the clients saw.

    Raises:
        StoryError: a request got no answer.
    """
    seen = tally(records)
    say(in_words(seen))
    if seen.failed:
        raise StoryError(f"{len(seen.failed)} of {seen.requests} requests failed, the first with: {seen.failed[0].why}")
