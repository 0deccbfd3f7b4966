"""The docker engine: the user's own where it can pull, else a dockerd of ours inside the network namespace."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from dev import netns, processes
from dev.cache import write_atomically
from dev.needs import Facts
from dev.paths import DEV, Paths
from dev.pins import OFFICIAL_NODE
from dev.shell import DevError, output, succeeds

CGROUP_PARENT = "inferenceversion-operator"


@dataclass(frozen=True, slots=True)
class Engine:
    """How to talk to the engine that runs the nodes."""

    local: bool
    environment: dict[str, str]

    def docker(self, *words: str | Path) -> str:
        return output(["docker", *words], env=self.environment)

    def has_image(self, tag: str) -> bool:
        return succeeds(["docker", "image", "inspect", tag], env=self.environment)


def user_engine() -> Engine:
    return Engine(local=False, environment={})


def own_engine(paths: Paths) -> Engine:
    return Engine(local=True, environment={"DOCKER_HOST": f"unix://{paths.socket}", "DOCKER_BUILDKIT": "0"})


def choose_local(facts: Facts) -> bool:
    """IVO_SOURCE=official|local decides; else: can the engine that answers get the node image?"""
    wish = os.environ.get("IVO_SOURCE", "auto")
    if wish not in {"auto", "official", "local"}:
        raise DevError(f"IVO_SOURCE={wish}: official, local or auto")
    if wish != "auto":
        return wish == "local"
    if not facts.docker_answers:
        return True
    if succeeds(["docker", "image", "inspect", OFFICIAL_NODE]):
        return False
    return not succeeds(["docker", "pull", OFFICIAL_NODE], timeout=1800)


def daemon_config(paths: Paths, facts: Facts) -> dict[str, object]:
    """All settings of our dockerd, so that a daemon.json of the machine plays no part."""
    config: dict[str, object] = {
        "data-root": str(paths.docker_data),
        "exec-root": str(paths.run / "exec"),
        "pidfile": str(paths.run / "docker.pid"),
        "hosts": [f"unix://{paths.socket}"],
        "bridge": "none",
        "cgroup-parent": f"/{CGROUP_PARENT}",
        "log-opts": {"max-size": "10m"},
    }
    if facts.needs_runc_wrapper:
        config["runtimes"] = {"without-sys-resource": {"path": str(wrapper(paths))}}
        config["default-runtime"] = "without-sys-resource"
    return config


def wrapper(paths: Paths) -> Path:
    """A copy beside the state: the engine must not depend on which checkout started it."""
    return paths.state / "runc-wrapper"


def record(paths: Paths) -> Path:
    return paths.state / "dockerd.pid"


def runs(paths: Paths) -> bool:
    """Is a dockerd of ours alive, with or without a cluster?"""
    return processes.living(record(paths)) is not None


def answers(paths: Paths) -> bool:
    return paths.socket.exists() and succeeds(["docker", "version"], env=own_engine(paths).environment, timeout=5)


def start(paths: Paths, facts: Facts) -> bool:
    """Start our dockerd in the namespace; False if it runs already."""
    config, wanted = paths.state / "daemon.json", json.dumps(daemon_config(paths, facts), indent=1)
    same = config.exists() and config.read_text() == wanted
    if same and runs(paths) and answers(paths):
        return False
    processes.stop(record(paths))
    shutil.rmtree(paths.run, ignore_errors=True)
    paths.run.mkdir(parents=True)
    write_atomically(config, wanted)
    source = (DEV / "files" / "runc-wrapper.py").read_text()
    write_atomically(wrapper(paths), f"#!{sys.executable}\n{source}", mode=0o755)
    log = paths.log("dockerd")
    # Proxy settings would be handed on to the nodes, and there is no way to any proxy from them.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [*netns.enter(), "dockerd", "--config-file", str(config)]
    processes.start(record(paths), command, log, environment)
    processes.wait_until("the start of dockerd", lambda: answers(paths), within=60, log=log)
    return True


def _remove_cgroups() -> None:
    """Cgroups stay behind when their processes are gone: remove ours, deepest first, in every hierarchy."""
    for mount in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
        top = mount / CGROUP_PARENT
        if not top.is_dir():
            continue
        for folder, _, _ in os.walk(top, topdown=False):
            try:
                Path(folder).rmdir()
            except OSError:
                continue


def _unmount_below(*folders: Path) -> None:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in reversed(mounts):
        if any(Path(mount).is_relative_to(folder) for folder in folders):
            output(["umount", "--lazy", mount])


def stop(paths: Paths) -> bool:
    """End our dockerd and remove what it leaves: mounts, cgroups, sockets."""
    if runs(paths) and answers(paths):
        docker = own_engine(paths).docker
        left = docker("ps", "-aq").split()
        if left:
            docker("rm", "-f", "-v", *left)
    stopped = processes.stop(record(paths))
    _unmount_below(paths.docker_data, paths.run)
    shutil.rmtree(paths.run, ignore_errors=True)
    _remove_cgroups()
    return stopped
