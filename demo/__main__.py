"""``python -m demo up``: a cluster, the operator, a version, real answers. ``python -m demo down``: all of it away."""

import argparse
import os
import subprocess
import sys
import time
from textwrap import dedent

from demo.ask import ask_all, request_body, table
from demo.cluster import RELEASE, ROOT, Cluster, CommandFailedError, NoClusterError, find_cluster, install_operator
from demo.headlines import HEADLINES
from demo.version import (
    ENDPOINT,
    NEXT_EXAMPLE,
    NotServingError,
    apply_example,
    endpoint_host,
    follow,
    remove_versions,
)

_STEPS = 5


def main() -> int:
    """Run one command; a known error is one message, never a traceback."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="See the operator release a version.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("up", help="bring everything up and ask it; safe to repeat").set_defaults(run=up)
    commands.add_parser("down", help="take everything away again").set_defaults(run=down)
    try:
        parser.parse_args().run()
    except (CommandFailedError, NoClusterError, NotServingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return int(error.returncode) or 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on from here", file=sys.stderr)
        return 130
    return 0


def up() -> None:
    """Bring up what is not there yet, and ask it."""
    began = time.monotonic()
    step(1, "a Kubernetes cluster with Envoy Gateway and Prometheus (the first time builds it: up to 20 minutes)")
    subprocess.run([sys.executable, "-m", "dev", "up"], cwd=ROOT, check=True)
    cluster = find_cluster()
    step(2, "the images of the operator and of the news-sentiment service")
    operator, triton = (load(cluster, name) for name in ("operator", "triton-sentiment"))
    step(3, "the operator, by its Helm chart")
    install_operator(cluster, operator)
    say(cluster.kubectl("get", "deployments", "--namespace=ivo-system").rstrip())
    step(4, "version 2.4.0 of the service")
    apply_example(cluster, triton, say)
    follow(cluster, say)
    step(5, "headlines through the Gateway")
    host = endpoint_host(cluster)
    answers = ask_all(cluster.gateway, host, HEADLINES)
    say("\n".join(table(answers)))
    say("\nversion and digest are headers of each answer: x-inference-version, x-inference-digest\n")
    say(cluster.kubectl("get", "iv,iep").rstrip())
    print(f"\nup after {time.monotonic() - began:.0f} s. {next_steps(cluster, host, triton)}")


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


def next_steps(cluster: Cluster, host: str, image: str) -> str:
    """Return what to try next: every line works as it is printed, in the repository's folder."""
    return dedent(f"""\
        Try next:

          eval "$({os.path.relpath(sys.executable, ROOT)} -m dev env)"    # kubectl and KUBECONFIG for this shell
          kubectl get iv,iep
          curl -si -H 'Host: {host}' http://{cluster.gateway}/v2/models/news_sentiment/infer \\
            -d '{request_body("Lost cat found alive after storm")}'

          # the next version: it takes over when it is Ready, without a failed request
          sed 's#image: .*/triton-sentiment@.*#image: {image}#' {NEXT_EXAMPLE} | kubectl apply -f -
          kubectl get iv,iep --watch

          # back to 2.4.0, by name
          kubectl patch iep {ENDPOINT} --type=merge -p '{{"spec": {{"version": "2.4.0"}}}}'

        Stop it, nothing stays behind:  make demo-down""")


def step(number: int, what: str) -> None:
    print(f"\n[{number}/{_STEPS}] {what}", flush=True)


def say(text: str) -> None:
    print("\n".join(f"  {line}".rstrip() for line in text.splitlines()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
