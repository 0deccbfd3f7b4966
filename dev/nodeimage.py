"""kindest/node from our own parts: the steps of kind's images/base/Dockerfile, without a builder.

A root filesystem of Debian packages, kind's own node files from its Go module, our binaries, and all images of the
cluster in containerd's store, so that nothing is pulled when the cluster starts.
"""

import functools
import json
import shutil
import subprocess
from pathlib import Path

from dev import cache, debian, gotools, parts, pins, processes, shell
from dev.engine import Engine
from dev.paths import DEV, Paths
from dev.pins import go_tool

REPOSITORY = "localhost/kind-node"
NODE_BINARIES = (
    ("kubernetes", "kubeadm", "usr/bin"),
    ("kubernetes", "kubelet", "usr/bin"),
    ("kubernetes", "kubectl", "usr/bin"),
    ("containerd", "containerd", "usr/local/bin"),
    ("containerd", "containerd-shim-runc-v2", "usr/local/bin"),
    ("containerd", "ctr", "usr/local/bin"),
    ("crictl", "crictl", "usr/local/bin"),
)
# CNI plugins that kind ships, and those our conflist names.
CNI_PLUGINS = ("host-local", "loopback", "ptp", "portmap")
ENABLED_UNITS = ("kubelet.service", "containerd.service", "undo-mount-hacks.service")
# What kind deletes of Debian's systemd: units that have no business in a container.
UNWANTED_UNITS = (
    "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "lib/systemd/system/multi-user.target.wants/*",
    "etc/systemd/system/*.wants/*",
    "lib/systemd/system/local-fs.target.wants/*",
    "lib/systemd/system/sockets.target.wants/*udev*",
    "lib/systemd/system/sockets.target.wants/*initctl*",
    "lib/systemd/system/basic.target.wants/*",
)


@functools.cache  # one `up` means one node image, even if a source file is edited meanwhile
def key() -> str:
    images = [parts.key(part) for part in parts.PARTS]
    tools = [gotools.key(go_tool(name)) for name in ("kubernetes", "containerd", "crictl", "kind")]
    own = [(DEV / name).read_bytes() for name in ("nodeimage.py", "manifests/cni.yaml")]
    return cache.key_of(debian.key(debian.NODE), parts.envoy_key(), *images, *tools, *own)


def tag() -> str:
    return f"{REPOSITORY}:{pins.KUBERNETES}-{key()}"


def _copy_kind_files(source: Path, rootfs: Path) -> None:
    """Kind's files keep their place; scripts become executable, the rest not (its Dockerfile's COPY --chmod)."""
    for path in cache.files_below(source):
        place = path.relative_to(source)
        target = rootfs / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755 if "bin" in place.parts else 0o644)


def _copy_binaries(paths: Paths, rootfs: Path) -> None:
    for tool, name, folder in NODE_BINARIES:
        shutil.copy2(gotools.binary(paths, tool, name), rootfs / folder / name)
    plugins = rootfs / "opt/cni/bin"
    plugins.mkdir(parents=True)
    for name in CNI_PLUGINS:
        shutil.copy2(rootfs / "usr/lib/cni" / name, plugins / name)


def _configure_systemd(rootfs: Path) -> None:
    for pattern in UNWANTED_UNITS:
        for path in rootfs.glob(pattern):
            path.unlink()
    wants = rootfs / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    for unit in ENABLED_UNITS:
        (wants / unit).symlink_to(f"/etc/systemd/system/{unit}")
    # It would register things in the kernel, for the whole machine.
    (rootfs / "etc/systemd/system/systemd-binfmt.service").symlink_to("/dev/null")
    with (rootfs / "etc/systemd/journald.conf").open("a") as config:
        config.write("ReadKMsg=no\n")
    init = rootfs / "sbin/init"
    init.unlink(missing_ok=True)
    init.symlink_to("/usr/lib/systemd/systemd")


def base_spec(spec: dict[str, object]) -> dict[str, object]:
    """The OCI spec of all containers: containerd's default, without rlimits, with kind's hook for product names."""
    process = spec["process"]
    if isinstance(process, dict):
        process.pop("rlimits", None)
    spec["hooks"] = {"createContainer": [{"path": "/kind/bin/mount-product-files.sh"}]}
    return spec


def _write_kind_files(paths: Paths, rootfs: Path) -> None:
    spec = json.loads(shell.output([gotools.binary(paths, "containerd", "ctr"), "oci", "spec"]))
    (rootfs / "etc/containerd/cri-base.json").write_text(json.dumps(base_spec(spec)))
    (rootfs / "kind/version").write_text(pins.KUBERNETES)
    (rootfs / "etc/kubernetes/manifests").mkdir(parents=True, exist_ok=True)
    manifests = rootfs / "kind/manifests"
    manifests.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DEV / "manifests" / "cni.yaml", manifests / "default-cni.yaml")


def containerd_config(root: Path, state: Path) -> str:
    """A containerd that only stores: no CRI, and none of the machine's paths."""
    plugins = ("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime")
    lines = [
        *("version = 3", f'root = "{root}"', f'state = "{state}"', f"disabled_plugins = {json.dumps(plugins)}"),
        *("[grpc]", f'address = "{state}/c.sock"', "[ttrpc]", f'address = "{state}/c.sock.ttrpc"'),
    ]
    return "\n".join(lines) + "\n"


def _store_images(paths: Paths, rootfs: Path) -> None:
    """Import all archives into the store that the node's containerd will find."""
    state = paths.run.parent / f"{paths.run.name}-import"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    config = state / "config.toml"
    config.write_text(containerd_config(rootfs / "var/lib/containerd", state))
    record, log, socket = state / "pid", paths.log("node-image"), state / "c.sock"
    ctr: list[str | Path] = [gotools.binary(paths, "containerd", "ctr"), "-a", socket, "-n", "k8s.io"]
    processes.start(record, [gotools.binary(paths, "containerd", "containerd"), "-c", config], log)
    try:
        processes.wait_until("the start of containerd", lambda: shell.succeeds([*ctr, "version"]), 30, log)
        for archive in parts.all_tars(paths):
            label = "--label=io.cri-containerd.pinned=pinned"  # the kubelet's image GC leaves it alone
            shell.run([*ctr, "images", "import", label, "--no-unpack", archive], log=log)
    finally:
        processes.stop(record)
        shutil.rmtree(state, ignore_errors=True)


def _import(engine: Engine, rootfs: Path, log: Path) -> None:
    left_out = ("./proc/*", "./sys/*", "./dev/*", "./var/lib/apt/lists/*", "./var/cache/apt/*")
    packed = ["tar", "-C", str(rootfs), *(f"--exclude={pattern}" for pattern in left_out), "-c", "."]
    changes = ("ENV container=docker", 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]')
    command = ["docker", "import", *(word for change in changes for word in ("-c", change)), "-", tag()]
    with log.open("ab") as sink, subprocess.Popen(packed, stdout=subprocess.PIPE, stderr=sink) as source:
        shell.run(command, log=log, env=engine.environment, stdin=source.stdout)
    if source.returncode != 0:
        raise shell.DevError(f"tar of the node's root filesystem failed; see {log}")


def build(paths: Paths, engine: Engine) -> bool:
    """Make the node image and hand it to the engine, which keeps it."""
    if engine.has_image(tag()):
        return False
    log = paths.log("node-image")
    rootfs = paths.cache / "tmp-node-rootfs"
    shutil.rmtree(rootfs, ignore_errors=True)
    rootfs.mkdir(parents=True)
    try:
        shell.run(["tar", "-xf", debian.tar(paths, debian.NODE), "-C", rootfs], log=log)
        files = gotools.module_folder(paths, "kind", "sigs.k8s.io/kind") / "images/base/files"
        _copy_kind_files(files, rootfs)
        _copy_binaries(paths, rootfs)
        _configure_systemd(rootfs)
        _write_kind_files(paths, rootfs)
        _store_images(paths, rootfs)
        _import(engine, rootfs, log)
    finally:
        shutil.rmtree(rootfs, ignore_errors=True)
    return True
