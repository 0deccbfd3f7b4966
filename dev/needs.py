"""What this machine must have, checked before anything is built."""

import grp
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from dev.paths import Paths
from dev.shell import CommandError, output, run

GO_MINIMUM = (1, 26)
DISK_GB_COLD, DISK_GB_WARM = 15, 3
CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_RESOURCE = 21, 12, 24
# Debian packages of the local source: program to look for -> package that has it.
DEBIAN_PROGRAMS = {
    "dockerd": "docker.io",
    "docker": "docker.io",
    "runc": "runc",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",
    "ip": "iproute2",
    "nsenter": "util-linux",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What was seen on the machine; plain values, so that the checks can be tested."""

    uid: int
    docker_group: bool
    docker_answers: bool
    go: tuple[int, int] | None
    free_gb: float
    built: bool
    architecture: str
    cgroup_v2: bool
    cgroups_mounted: bool
    capabilities: int
    apt: bool
    absent_programs: tuple[str, ...]

    def has_capability(self, number: int) -> bool:
        return bool(self.capabilities >> number & 1)

    @property
    def needs_runc_wrapper(self) -> bool:
        """Root here may not raise limits, and kind asks for all capabilities."""
        return not self.has_capability(CAP_SYS_RESOURCE)


def parse_go_version(text: str) -> tuple[int, int] | None:
    found = re.search(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def parse_capabilities(status: str) -> int:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return int(found[1], 16) if found else 0


def missing(facts: Facts, *, local: bool) -> list[str]:
    """What must be put right first; empty if the machine will do."""
    wants: list[str] = []
    if facts.go is None or facts.go < GO_MINIMUM:
        seen = "none" if facts.go is None else f"{facts.go[0]}.{facts.go[1]}"
        wants.append(f"Go >= {GO_MINIMUM[0]}.{GO_MINIMUM[1]} (seen: {seen})")
    disk = DISK_GB_WARM if facts.built else DISK_GB_COLD
    if facts.free_gb < disk:
        wants.append(f"{disk} GB of disk for the cache (free: {facts.free_gb:.0f} GB)")
    if local:
        wants += _missing_local(facts)
    elif facts.uid != 0 and not facts.docker_answers and not facts.docker_group:
        wants.append("root, or membership in the group docker")
    return wants


def _missing_local(facts: Facts) -> list[str]:
    wants: list[str] = []
    if facts.uid != 0:
        wants.append("root (or a Docker engine that answers and can pull images)")
    elif not (facts.has_capability(CAP_SYS_ADMIN) and facts.has_capability(CAP_NET_ADMIN)):
        wants.append("the capabilities SYS_ADMIN and NET_ADMIN")
    if facts.architecture != "x86_64":
        wants.append(f"x86_64 (this is {facts.architecture}; Envoy and Triton are wheels for x86_64)")
    if not facts.cgroups_mounted:
        wants.append("a cgroup hierarchy at /sys/fs/cgroup")
    if facts.absent_programs and not facts.apt:
        wants.append("apt, or these programs: " + ", ".join(facts.absent_programs))
    return wants


def _docker_answers() -> bool:
    try:
        return bool(output(["docker", "version", "--format", "{{.Server.Version}}"], timeout=15).strip())
    except CommandError:
        return False


def _in_docker_group() -> bool:
    try:
        return grp.getgrnam("docker").gr_gid in os.getgroups()
    except KeyError:
        return False


def _go_version() -> tuple[int, int] | None:
    try:
        return parse_go_version(output(["go", "version"]))
    except CommandError:
        return None


def _free_gb(folder: Path) -> float:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free / 1e9


def look(paths: Paths) -> Facts:
    """Read the facts of this machine."""
    cgroup = Path("/sys/fs/cgroup")
    return Facts(
        uid=os.geteuid(),
        docker_group=_in_docker_group(),
        docker_answers=_docker_answers(),
        go=_go_version(),
        free_gb=_free_gb(paths.cache),
        built=(paths.docker_data / "image").exists(),
        architecture=platform.machine(),
        cgroup_v2=(cgroup / "cgroup.controllers").exists(),
        cgroups_mounted=(cgroup / "cgroup.controllers").exists() or (cgroup / "memory").exists(),
        capabilities=parse_capabilities(Path("/proc/self/status").read_text()),
        apt=shutil.which("apt-get") is not None,
        absent_programs=tuple(name for name in DEBIAN_PROGRAMS if shutil.which(name) is None),
    )


def install_debian_packages(facts: Facts, log: Path) -> bool:
    """Get what the local source needs; no service is started by the installation."""
    packages = sorted({DEBIAN_PROGRAMS[name] for name in facts.absent_programs})
    if not packages:
        return False
    # Debian's own switch for "install, do not start": the engine we use is one of our own.
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "-q"], log=log, env=quiet)
        run(["apt-get", "install", "-qy", "--no-install-recommends", *packages], log=log, env=quiet)
    finally:
        if ours:
            policy.unlink()
    return True
