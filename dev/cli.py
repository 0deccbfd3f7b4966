"""`python -m dev`: arguments in, one thin function a command. stdout is data, stderr is talk."""

import argparse
import sys
from collections.abc import Callable, Sequence

from dev import cluster, commands
from dev.shell import DevError

EPILOG = """\
environment:
  IVO_CACHE            where parts and images are kept (default: ~/.cache/inferenceversion-operator)
  IVO_SOURCE           official: public images; local: everything built here; auto (default): what the machine can do
  IVO_SUBNET           the /24 between host and cluster, local source only (default: 10.88.0.0/24)
  IVO_DEBIAN_MIRROR    Debian mirror for root filesystems (default: mmdebstrap's own)
  CLUSTER=existing     use the cluster of $KUBECONFIG; load-image calls $IMAGE_LOADER TAG or pushes to $REGISTRY

exit codes: 0 done; 1 it failed, and stderr says why; 2 wrong arguments; 3 (status) the cluster is not up
"""


def _node_count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 9:
        raise argparse.ArgumentTypeError("1 to 9 nodes")
    return number


def _output_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text", help="how to print the result")


class _Commands:
    """Adds a command with its help and its function."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.group = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(self, name: str, function: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = self.group.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(function=function)
        return sub


def _cluster_commands(add: _Commands) -> None:
    up = add.add("up", commands.up, "build what is missing and start the cluster; safe to repeat")
    up.add_argument("--nodes", type=_node_count, metavar="N",
                    help="nodes in all: one control plane and N-1 workers "
                    f"(default: as many as there are, else {cluster.DEFAULT_NODES})")  # fmt: skip
    add.add("down", commands.down, "remove the cluster and everything that runs for it; the cache stays")
    _output_option(add.add("status", commands.status, "say what is up, and under which addresses"))
    add.add("kubeconfig", commands.kubeconfig, "print the path of the kubeconfig")
    add.add("env", commands.env, 'print shell exports: eval "$(python -m dev env)"')
    run = add.add("exec", commands.execute, "run a command inside the cluster's network, with KUBECONFIG, "
                  "DOCKER_HOST and PATH set; it reaches pods and Services directly")  # fmt: skip
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command and its arguments")
    logs = add.add("logs", commands.logs, "show the end of the logs of builds, engine and cluster")
    logs.add_argument("names", nargs="*", metavar="NAME", help="only these logs (default: list all of them)")
    logs.add_argument("-n", "--lines", type=int, default=40, help="how many lines of each (default: %(default)s)")
    gpus = add.add("gpus", commands.gpus, "give a worker N FAKE nvidia.com/gpu: the scheduler counts them, "
                   "nothing computes on them; 0 removes them")  # fmt: skip
    gpus.add_argument("count", type=int, metavar="N")
    gpus.add_argument("--node", help="which node (default: the first that takes pods)")
    kwok = add.add("kwok", commands.kwok, "nodes that exist only as objects, for benchmarks: pods on them 'run' at "
                   "once; taint kwok.x-k8s.io/node=fake:NoSchedule, 8 nvidia.com/gpu each")  # fmt: skip
    kwok.add_argument("action", choices=["up", "down"])
    kwok.add_argument("--nodes", type=int, default=10, metavar="N", help="fake nodes (default: %(default)s)")


def _image_commands(add: _Commands) -> None:
    add.add("build", commands.build, "build tools, node image and base images; start no cluster")
    build = add.add("build-image", commands.build_image, "build images/NAME/Dockerfile (see dev/README.md for the "
                    "contract), or a base image; print its tag")  # fmt: skip
    build.add_argument("name", metavar="NAME")
    build.add_argument("--load", action="store_true", help="also load it into the cluster; prints repo@sha256:...")
    _output_option(build)
    load = add.add("load-image", commands.load_image, "load images into every node; print repo@sha256:... of each, "
                   "which a pod with imagePullPolicy IfNotPresent can name")  # fmt: skip
    load.add_argument(
        "sources",
        nargs="*",
        metavar="ARCHIVE_OR_TAG",
        help="a docker-archive, or a tag of the engine (default: the newest image of every folder of images/)",
    )
    _output_option(load)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m dev",
        description="A real Kubernetes on this machine: kind, Envoy Gateway, Prometheus. Start with: python -m dev up",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = _Commands(top)
    _cluster_commands(add)
    _image_commands(add)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a known error is one message, never a traceback."""
    options = parser().parse_args(arguments)
    try:
        return int(options.function(options))
    except DevError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on from here", file=sys.stderr)
        return 130
