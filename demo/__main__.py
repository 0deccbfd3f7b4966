"""``python -m demo up``: a cluster, the operator, a story of releases. ``python -m demo down``: all of it away."""

import argparse
import os
import subprocess
import sys
import time
from contextlib import suppress

from demo.acts import ACTS
from demo.acts.report import next_steps
from demo.ask import NotServingError
from demo.cluster import (
    PROMETHEUS,
    RELEASE,
    ROOT,
    Cluster,
    CommandFailedError,
    NoClusterError,
    find_cluster,
    install_operator,
)
from demo.endpoint import Endpoint, StoryError
from demo.manifests import FIRST
from demo.say import heading, say
from demo.stage import Stage
from demo.version import remove_versions, tidy
from inferenceversion_operator.cli.errors import UserError

_KNOWN = (CommandFailedError, NoClusterError, NotServingError, StoryError, UserError, subprocess.TimeoutExpired)
_NO_PROMETHEUS = (
    "needs Prometheus, which its gates ask: say PROMETHEUS_URL (and PROMETHEUS_IN_CLUSTER, where pods reach it by "
    "another address), then make demo again; docs/prometheus.md says what it has to scrape"
)


def main() -> int:
    """Run one command; a known error is one line, never a traceback."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="See the operator release versions.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up_parser = commands.add_parser("up", help="bring everything up and play the story; safe to repeat")
    up_parser.add_argument("--act", choices=ACTS, help="one act alone; the rest is left as it is")
    commands.add_parser("down", help="take everything away again")
    options = parser.parse_args()
    try:
        down() if options.command == "down" else up(options.act)
    except _KNOWN as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:  # `dev` has said why
        return int(error.returncode) or 1
    except KeyboardInterrupt:
        print(
            "interrupted; the same command again goes on from here, make demo-down takes it all away", file=sys.stderr
        )
        return 130
    return 0


def up(act: str | None) -> None:
    """Bring up what is not there yet and play the story, or one act of it."""
    began = time.monotonic()
    stage = (find_stage() if act else None) or set_up()
    for name in [act] if act else ACTS:
        play(stage, name, alone=act is not None)
    print(f"\n{f'act {act}' if act else 'all of it'} took {time.monotonic() - began:.0f} s", flush=True)
    if act in (None, "report"):
        print(f"\n{next_steps(stage)}", flush=True)


def play(stage: Stage, name: str, *, alone: bool) -> None:
    """Play one act; what Ctrl-C leaves half released is taken away.

    Raises:
        StoryError: it can't be played.
        SystemExit: it was interrupted.
    """
    act, began = ACTS[name], time.monotonic()
    heading(f"{list(ACTS).index(name) + 1}/{len(ACTS)} {name}: {act.title}")
    if act.gated and not (stage.cluster.prometheus or PROMETHEUS):
        if alone:
            raise StoryError(f"act {name} {_NO_PROMETHEUS}")
        say(f"left out: this act {_NO_PROMETHEUS}")
        return
    try:
        act.play(stage)
    except KeyboardInterrupt:
        print("\ninterrupted; a version that is half released is deleted ...", file=sys.stderr, flush=True)
        with suppress(*_KNOWN):
            gone = " and ".join(tidy(stage)) or "there was none"
            again = f"make demo ACT={name} plays this act again, make demo-down takes everything away"
            print(f"... {gone}; {again}", file=sys.stderr)
        raise SystemExit(130) from None
    say(f"({time.monotonic() - began:.0f} s)")


def find_stage() -> Stage | None:
    """Return what stands already; None where cluster, operator or 2.4.0 are missing."""
    with suppress(NoClusterError, UserError):
        cluster = find_cluster()
        endpoint = Endpoint(cluster)
        seen = endpoint.look()
        first = seen.object_of(FIRST) if seen else None
        if first:
            return Stage(cluster, endpoint, first["spec"]["runtime"]["image"])
    return None


def set_up() -> Stage:
    """Bring up the cluster, the images and the operator."""
    heading("a Kubernetes cluster with Envoy Gateway and Prometheus (the first time builds it: up to 20 minutes)")
    subprocess.run([sys.executable, "-m", "dev", "up"], cwd=ROOT, check=True)
    cluster = find_cluster()
    heading("the images of the operator and of the news-sentiment service")
    operator, triton = (load(cluster, name) for name in ("operator", "triton-sentiment"))
    heading("the operator, by its Helm chart")
    install_operator(cluster, operator)
    say(cluster.kubectl("get", "deployments", "--namespace=ivo-system").rstrip())
    return Stage(cluster, Endpoint(cluster), triton)


def down() -> None:
    """Remove the cluster, or, where it is somebody else's, what the demo put into it."""
    if os.environ.get("CLUSTER") == "existing":
        cluster = find_cluster()
        remove_versions(cluster)
        cluster.helm("uninstall", RELEASE, "--ignore-not-found", "--wait")
        say("removed the versions and the operator; the CRDs stay (charts/inferenceversion-operator/README.md)")
        return
    subprocess.run([sys.executable, "-m", "dev", "down"], cwd=ROOT, check=True)


def load(cluster: Cluster, name: str) -> str:
    began = time.monotonic()
    reference = cluster.load_image(name)
    say(f"{reference} ({time.monotonic() - began:.0f} s)")
    return reference


if __name__ == "__main__":
    sys.exit(main())
