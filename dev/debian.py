"""Debian root filesystems as tar files, made by mmdebstrap."""

import os
from dataclasses import dataclass
from pathlib import Path

from dev import cache, shell
from dev.paths import Paths
from dev.pins import DEBIAN_SUITE

UNWANTED = ("man", "doc", "info", "locale", "lintian", "bug")


@dataclass(frozen=True, slots=True)
class Rootfs:
    """Which packages, and shell commands run in the finished tree ($1)."""

    name: str
    variant: str
    packages: tuple[str, ...]
    hooks: tuple[str, ...] = ()


# What kind's own images/base/Dockerfile installs, less network storage, plus runc and CNI plugins, which
# kind builds from source. systemd 252 of bookworm runs on cgroup v1 and v2.
NODE = Rootfs(
    "node",
    "minbase",
    (
        *("systemd", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod"),
        *("libseccomp2", "pigz", "procps", "socat", "bash", "ca-certificates", "curl", "jq"),
        *("runc", "containernetworking-plugins"),
    ),
)

# What kube-proxy and our CNI stand-in call: iptables with all its matches, and a shell.
NETWORK = Rootfs("network", "essential", ("iptables", "conntrack", "iproute2", "kmod", "curl", "jq"))

PYTHON = Rootfs(
    "python",
    "minbase",
    ("python3", "python3-venv", "libpython3.11", "ca-certificates"),
    hooks=(
        'chroot "$1" groupadd --gid 65532 nonroot',
        'chroot "$1" useradd --uid 65532 --gid 65532 --no-create-home --home-dir / --shell /usr/sbin/nologin nonroot',
    ),
)

ALL = (NODE, NETWORK, PYTHON)


def command(rootfs: Rootfs, target: Path) -> list[str]:
    words = ["mmdebstrap", "--mode=root", f"--variant={rootfs.variant}", f"--include={','.join(rootfs.packages)}"]
    # Device nodes come from the container runtime; layers with nodes can't be unpacked everywhere.
    words += ["--skip=output/dev", "--aptopt=Acquire::Languages none", "--aptopt=APT::Install-Recommends false"]
    words += [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in UNWANTED]
    words += [f"--customize-hook={hook}" for hook in rootfs.hooks]
    words += [DEBIAN_SUITE, str(target)]
    mirror = os.environ.get("IVO_DEBIAN_MIRROR")
    return [*words, mirror] if mirror else words


def key(rootfs: Rootfs) -> str:
    return cache.key_of(*command(rootfs, Path("rootfs.tar")))


def tar(paths: Paths, rootfs: Rootfs) -> Path:
    return paths.artifact("debian", rootfs.name, key(rootfs)) / "rootfs.tar"


def build(paths: Paths, rootfs: Rootfs) -> bool:
    def work(target: Path) -> None:
        shell.run(command(rootfs, target / "rootfs.tar"), log=paths.log(f"debian-{rootfs.name}"))

    return cache.ensure(tar(paths, rootfs).parent, work)
