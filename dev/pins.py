"""Every version that makes up the cluster, in one place.

Go modules are pinned by the go.sum in dev/tools/<name>/; the versions here are for names and tags, and a unit test
holds them together with the go.mod files.
"""

from dataclasses import dataclass

KUBERNETES = "v1.37.2"
ETCD = "v3.6.16"
CONTAINERD = "v2.1.5"
CRICTL = "v1.37.0"
KIND = "v0.33.0"
HELM = "v3.22.0"
COREDNS = "v1.13.0"
ENVOY_GATEWAY = "v1.9.1"
PROMETHEUS = "v0.313.5"
PROMETHEUS_RELEASE = "v3.13.5"  # the release that the Go module v0.313.5 is
KWOK = "v0.7.0"
ENVOY = "1.40.0"
PAUSE_TAG = "3.10"  # the tag in containerd's config of kind's node files

DEBIAN_SUITE = "bookworm"

# Official images, for machines that can pull. kind v0.33.0 was released with this node image.
OFFICIAL_NODE = "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"
OFFICIAL_GATEWAY = "docker.io/envoyproxy/gateway:v1.9.1"
OFFICIAL_ENVOY = "docker.io/envoyproxy/envoy:distroless-v1.40.0"
OFFICIAL_PROMETHEUS = "docker.io/prom/prometheus:v3.13.5"

LOCAL_GATEWAY = f"localhost/envoy-gateway:{ENVOY_GATEWAY}"
LOCAL_ENVOY = f"localhost/envoy:{ENVOY}"
LOCAL_PROMETHEUS = f"localhost/prometheus:{PROMETHEUS_RELEASE}"
LOCAL_CNI = "localhost/dev-cni:1"


@dataclass(frozen=True, slots=True)
class AddonImages:
    """The images of what runs beside Kubernetes itself."""

    gateway: str
    envoy: str
    prometheus: str


OFFICIAL_ADDONS = AddonImages(OFFICIAL_GATEWAY, OFFICIAL_ENVOY, OFFICIAL_PROMETHEUS)
LOCAL_ADDONS = AddonImages(LOCAL_GATEWAY, LOCAL_ENVOY, LOCAL_PROMETHEUS)


@dataclass(frozen=True, slots=True)
class GoTool:
    """One module under dev/tools/: what is built from it and how."""

    name: str
    version: str
    binaries: tuple[str, ...]
    target: str = "tool"  # "tool": the tool lines of go.mod; ".": our own main package
    tags: str = ""
    ldflags: tuple[str, ...] = ()


def _helm_ldflags() -> tuple[str, ...]:
    # As helm's own Makefile does: without these `helm template` takes the cluster for Kubernetes 1.20.
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    values = {"k8sVersionMajor": major, "k8sVersionMinor": minor}
    packages = ("helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules")
    of_kubernetes = tuple(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())
    return (*of_kubernetes, f"-X helm.sh/helm/v3/internal/version.version={HELM}")


def _kubernetes_ldflags() -> tuple[str, ...]:
    # Without these the nodes and the API report "v0.0.0-master+$Format:%H$" and clients warn.
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    values = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return tuple(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())


_KUBERNETES_BINARIES = (
    "kubeadm",
    "kubelet",
    "kubectl",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
)

GO_TOOLS = (
    GoTool("kubernetes", KUBERNETES, _KUBERNETES_BINARIES, ldflags=_kubernetes_ldflags()),
    # Of all service discoveries only kubernetes is linked: a fifth of the build time.
    GoTool("prometheus", PROMETHEUS, ("prometheus",), tags="remove_all_sd,enable_kubernetes_sd"),
    GoTool("envoy-gateway", ENVOY_GATEWAY, ("envoy-gateway",)),
    GoTool("helm", HELM, ("helm",), ldflags=_helm_ldflags()),
    GoTool("coredns", COREDNS, ("coredns",), target="."),
    GoTool(
        "containerd",
        CONTAINERD,
        ("containerd", "containerd-shim-runc-v2", "ctr"),
        tags="no_btrfs,no_devmapper,no_zfs",
    ),
    GoTool("etcd", ETCD, ("etcd",)),
    GoTool("crictl", CRICTL, ("crictl",)),
    GoTool("kind", KIND, ("kind",)),
    GoTool("pause", "1", ("pause",), target="."),
    GoTool("kwok", KWOK, ("kwok",)),
)


def go_tool(name: str) -> GoTool:
    return next(tool for tool in GO_TOOLS if tool.name == name)
