"""One version everywhere: pins.py, the go.mod files and kind's own node image agree."""

import re

import pytest

from dev import debian, gotools, parts, pins, plan
from dev.paths import DEV

MODULES = {
    "kubernetes": "k8s.io/kubernetes",
    "prometheus": "github.com/prometheus/prometheus",
    "envoy-gateway": "github.com/envoyproxy/gateway",
    "helm": "helm.sh/helm/v3",
    "coredns": "github.com/coredns/coredns",
    "containerd": "github.com/containerd/containerd/v2",
    "etcd": "go.etcd.io/etcd/server/v3",
    "crictl": "sigs.k8s.io/cri-tools",
    "kind": "sigs.k8s.io/kind",
    "kwok": "sigs.k8s.io/kwok",
}


def go_mod(name):
    return (DEV / "tools" / name / "go.mod").read_text()


@pytest.mark.parametrize("name", MODULES)
def test_pin_is_what_go_mod_requires(name):
    assert re.search(
        rf"^\s*(require )?{re.escape(MODULES[name])} {re.escape(pins.go_tool(name).version)}\b",
        go_mod(name),
        re.MULTILINE,
    )


def test_every_tool_has_its_folder_and_every_folder_its_tool():
    folders = {path.name for path in (DEV / "tools").iterdir() if path.is_dir()}
    assert folders == {tool.name for tool in pins.GO_TOOLS}


def test_staging_modules_of_kubernetes_have_its_patch_number():
    staging = pins.KUBERNETES.replace("v1.", "v0.", 1)
    replaced = re.findall(r"^\s*k8s\.io/\S+ => k8s\.io/\S+ (\S+)$", go_mod("kubernetes"), re.MULTILINE)
    assert len(replaced) > 25
    assert set(replaced) == {staging}


def test_nodes_report_the_pinned_version():
    flags = gotools.build_command(pins.go_tool("kubernetes"), DEV)[4]
    assert f"-X k8s.io/component-base/version.gitVersion={pins.KUBERNETES}" in flags


def test_tool_key_sees_flags():
    tool = pins.go_tool("crictl")
    other = pins.GoTool(tool.name, tool.version, tool.binaries, tags="x")
    assert gotools.key(tool) != gotools.key(other)


def test_each_part_has_its_own_tag_and_key():
    assert len({part.tag for part in parts.PARTS}) == len({parts.key(part) for part in parts.PARTS}) == len(parts.PARTS)


def test_longest_builds_come_first():
    assert plan.NODE_TOOLS[0] == "kubernetes"


def test_a_change_of_packages_is_another_root_filesystem():
    other = debian.Rootfs(debian.NODE.name, debian.NODE.variant, (*debian.NODE.packages, "vim"))
    assert debian.key(other) != debian.key(debian.NODE)


def test_the_compiler_may_take_memory_unless_somebody_says_otherwise(monkeypatch):
    monkeypatch.delenv("GOGC", raising=False)
    assert gotools.build_environment()["GOGC"] == "400"
    monkeypatch.setenv("GOGC", "50")
    assert gotools.build_environment()["GOGC"] == "50"


def test_helm_takes_charts_to_be_for_the_pinned_kubernetes():
    flags = gotools.build_command(pins.go_tool("helm"), DEV)[4]
    major, minor, _ = pins.KUBERNETES.removeprefix("v").split(".")
    assert f"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor={major} " in flags
    assert f"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor={minor} " in flags
    assert f"/version.version={pins.HELM}" in flags
