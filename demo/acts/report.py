"""Act 5: the evidence of the releases, as pages of HTML, and what to try next."""

import os
import sys
from textwrap import dedent

from demo.ask import request_body
from demo.cluster import ROOT
from demo.endpoint import NAMESPACE
from demo.manifests import ENDPOINT
from demo.say import say
from demo.scene import releases_with_evidence
from demo.stage import FOLDER, Stage


def play(stage: Stage) -> None:
    seen = stage.endpoint.look()
    releases = releases_with_evidence(seen.history if seen else ())
    for version, outcome in releases:
        _write(stage, version, outcome)
    if not releases:
        say("no release went through gates yet: make demo ACT=release")


def _write(stage: Stage, version: str, outcome: str) -> None:
    path = FOLDER / f"report-{version}.html"
    prometheus = ("--prometheus", stage.cluster.prometheus) if stage.cluster.prometheus else ()
    words = ("report", ENDPOINT, "--version", version, *prometheus, "-o", str(path))
    say(f"$ kubectl iv {' '.join(words)}")
    stage.iv(*words, f"--namespace={NAMESPACE}")
    say(f"{path}: {version} {outcome.lower()}, each gate with its numbers; open it in a browser")


def next_steps(stage: Stage) -> str:
    """Return what to try next: every line works as it is printed, in the repository's folder."""
    seen = stage.endpoint.look()
    host, gateway = (seen.host if seen else ""), stage.cluster.gateway
    return dedent(f"""\
        Try next:

          eval "$({os.path.relpath(sys.executable, ROOT)} -m dev env)"    # kubectl, kubectl iv, KUBECONFIG
          kubectl get iv,iep
          kubectl iv status {ENDPOINT} --watch    # and in another terminal: make demo ACT=release
          kubectl iv unpin {ENDPOINT}             # after a rollback: 2.4.1 is wanted again
          ls {FOLDER}                             # what was applied: change one, give it a higher version, apply it
          curl -si -H 'Host: {host}' http://{gateway}/v2/models/news_sentiment/infer \\
            -d '{request_body("Lost cat found alive after storm")}'

        One act again:  make demo ACT=rollback    (serve, release, stopped, rollback, report)
        Stop it, nothing stays behind:  make demo-down""")
