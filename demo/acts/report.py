"""Act 5: the evidence of the releases, as pages of HTML."""

from demo.endpoint import NAMESPACE, StoryError
from demo.manifests import ENDPOINT
from demo.say import say
from demo.scene import releases_with_evidence
from demo.stage import FOLDER, Stage


def play(stage: Stage) -> None:
    seen = stage.endpoint.look()
    releases = releases_with_evidence(seen.history if seen else ())
    if not releases:
        raise StoryError("no release went through gates yet: make demo ACT=release")
    prometheus = ("--prometheus", stage.cluster.prometheus) if stage.cluster.prometheus else ()
    for version, outcome in releases:
        path = FOLDER / f"report-{version}.html"
        words = ("report", ENDPOINT, "--version", version, *prometheus, "-o", str(path))
        say(f"$ kubectl iv {' '.join(words)}")
        stage.iv(*words, f"--namespace={NAMESPACE}")
        say(f"{path}: {version}, {outcome.lower()}, with each gate's numbers; open it in a browser")
