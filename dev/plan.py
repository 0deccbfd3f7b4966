"""Which steps a build or an `up` consists of, and which may run beside each other."""

from collections.abc import Callable
from dataclasses import dataclass

from dev import base_images, debian, engine, gotools, needs, netns, nodeimage, parts, pins
from dev.engine import Engine
from dev.needs import Facts
from dev.paths import Paths
from dev.pins import go_tool
from dev.steps import Step

# Longest first: the two lanes then end at about the same time.
NODE_TOOLS = ("kubernetes", "prometheus", "envoy-gateway", "helm", "coredns", "containerd", "etcd", "crictl", "kind")
# With official images only the programs that run on the host are built.
HOST_TOOLS = ("kubernetes", "helm", "kind")
PACKAGES, NETWORK, ENGINE, NODE_IMAGE = "Debian packages", "network namespace", "docker engine", "node image"


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything the steps need to know about where they run."""

    paths: Paths
    facts: Facts
    engine: Engine

    @property
    def local(self) -> bool:
        return self.engine.local


def go_step(paths: Paths, name: str, after: tuple[str, ...] = ()) -> Step:
    tool = go_tool(name)
    return Step(tool_title(name), lambda: gotools.build(paths, tool.name), after)


def tool_title(name: str) -> str:
    return f"{name} {go_tool(name).version}"


def engine_steps(machine: Machine) -> list[Step]:
    """Packages, namespace and dockerd; nothing where the user's engine is used."""
    if not machine.local:
        return []
    paths, facts = machine.paths, machine.facts
    return [
        Step(PACKAGES, lambda: needs.install_debian_packages(facts, paths.log("apt"))),
        Step(NETWORK, netns.create, (PACKAGES,)),
        Step(ENGINE, lambda: engine.start(paths, facts), (NETWORK,)),
    ]


def engine_is_up(machine: Machine) -> bool:
    return not machine.local or engine.answers(machine.paths)


def debian_step(paths: Paths, rootfs: debian.Rootfs) -> Step:
    return Step(f"Debian files: {rootfs.name}", lambda: debian.build(paths, rootfs), (PACKAGES,))


def part_steps(machine: Machine) -> list[Step]:
    """Everything that is built from source or packages."""
    paths = machine.paths
    if not machine.local:
        return [go_step(paths, name) for name in HOST_TOOLS]
    rootfs = [debian_step(paths, each) for each in debian.ALL]
    tools = [go_step(paths, name) for name in NODE_TOOLS]
    tools.append(go_step(paths, "pause"))
    # The first lane compiles Kubernetes while the second unpacks Debian, which hardly needs the processor's caches.
    return [tools[0], *rootfs, *tools[1:]]


def node_image_steps(machine: Machine) -> list[Step]:
    if not machine.local:
        return []
    paths = machine.paths
    built = tuple(step.name for step in part_steps(machine))
    return [
        Step("cluster images", lambda: parts.build_all(paths), built),
        Step(NODE_IMAGE, lambda: nodeimage.build(paths, machine.engine), (ENGINE, "cluster images")),
    ]


def build_steps(machine: Machine) -> list[Step]:
    """What `dev build` does: all of it, without a cluster."""
    steps = [*engine_steps(machine), *part_steps(machine), *node_image_steps(machine)]
    if machine.local:
        last = (steps[-1].name,)
        bases = machine
        steps += [Step(f"image {n}", _base_builder(bases, n), last) for n in base_images.NAMES]
    return steps


def _base_builder(machine: Machine, name: str) -> Callable[[], bool]:
    return lambda: base_images.build(machine.paths, machine.engine, name)


def node_image(machine: Machine) -> str:
    return nodeimage.tag() if machine.local else pins.OFFICIAL_NODE


def addon_images(machine: Machine) -> pins.AddonImages:
    return pins.LOCAL_ADDONS if machine.local else pins.OFFICIAL_ADDONS
