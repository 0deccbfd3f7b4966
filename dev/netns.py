"""A network namespace without a way out, joined to the host by one pair of interfaces.

The nodes, their pods and the engine that runs them live in it. It has no default route, and nothing forwards for it:
what is not in the image does not get in, as in a cluster behind a closed firewall.
"""

import ipaddress
import os
import signal
from pathlib import Path

from dev.shell import DevError, output, succeeds

NAMESPACE = "ivo"
HOST_SIDE, INNER_SIDE = "ivo-host", "ivo-inner"
DEFAULT_SUBNET = "10.88.0.0/24"
SERVICES = "10.96.0.0/16"
PODS = "10.244.0.0/16"


def subnet() -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(os.environ.get("IVO_SUBNET") or DEFAULT_SUBNET)


def host_address() -> str:
    return str(subnet()[1])


def inner_address() -> str:
    """Where the host reaches the API server, the Gateway and Prometheus."""
    return str(subnet()[2])


def handle() -> Path:
    return Path("/var/run/netns") / NAMESPACE


def enter() -> list[str]:
    # Not `ip netns exec`: that mounts a fresh /sys, and the engine then finds no cgroups.
    return ["nsenter", f"--net={handle()}"]


def exists() -> bool:
    return handle().exists()


def overlapping(routes: str, network: ipaddress.IPv4Network) -> str | None:
    """The first route of `ip -4 route` that our network would hide, unless it is our own."""
    for line in routes.splitlines():
        words = line.split()
        if not words or words[0] == "default" or HOST_SIDE in words:
            continue
        try:
            route = ipaddress.IPv4Network(words[0] if "/" in words[0] else f"{words[0]}/32")
        except ValueError:
            continue
        if route.overlaps(network):
            return line.strip()
    return None


def create() -> bool:
    """Make namespace and interfaces; False if they were there."""
    if exists() and succeeds(["ip", "link", "show", HOST_SIDE]):
        return False
    clash = overlapping(output(["ip", "-4", "route"]), subnet())
    if clash:
        raise DevError(f"{subnet()} is in use here ({clash}); set IVO_SUBNET to a free /24")
    remove()
    inner = ["ip", "-n", NAMESPACE]
    prefix = subnet().prefixlen
    for command in (
        ["ip", "netns", "add", NAMESPACE],
        ["ip", "link", "add", HOST_SIDE, "type", "veth", "peer", "name", INNER_SIDE, "netns", NAMESPACE],
        ["ip", "addr", "add", f"{host_address()}/{prefix}", "dev", HOST_SIDE],
        ["ip", "link", "set", HOST_SIDE, "up"],
        [*inner, "addr", "add", f"{inner_address()}/{prefix}", "dev", INNER_SIDE],
        [*inner, "link", "set", INNER_SIDE, "up"],
        [*inner, "link", "set", "lo", "up"],
    ):
        output(command)
    return True


def route_to_pods(pod_networks: dict[str, str], control_plane: str) -> None:
    """Let processes inside the namespace reach pods and Services directly, as a node would."""
    inner = ["ip", "-n", NAMESPACE]
    for network, node in pod_networks.items():
        output([*inner, "route", "replace", network, "via", node])
    output([*inner, "route", "replace", SERVICES, "via", control_plane])


def processes() -> list[int]:
    """Who is in the namespace."""
    return [int(pid) for pid in output(["ip", "netns", "pids", NAMESPACE]).split()] if exists() else []


def remove() -> bool:
    """Undo `create`; whoever is left inside (a forgotten `dev exec`) is ended first."""
    if not exists():
        return False
    for pid in processes():
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    # The inner end goes with the namespace only once nothing holds it; deleting the outer end is immediate.
    if succeeds(["ip", "link", "show", HOST_SIDE]):
        output(["ip", "link", "del", HOST_SIDE])
    output(["ip", "netns", "del", NAMESPACE])
    _forget_folder(handle().parent)
    return True


def _forget_folder(folder: Path) -> None:
    """`ip netns add` makes a mount point of its folder; the last namespace takes it along."""
    if any(folder.iterdir()) or not folder.resolve().is_mount():
        return
    output(["umount", folder.resolve()])
    folder.rmdir()
