"""kind's configuration: what is always there, and what only some machines need."""

import ipaddress

import pytest
import yaml

from dev import kind, netns, nodeimage
from dev.kind import Shape

LOCAL = Shape(nodes=3, address="10.88.0.2", local=True, cgroup_v2=False, restrict_oom_score=True)
OFFICIAL = Shape(nodes=1, address="127.0.0.1", local=False)


def patches(shape):
    return {patch["kind"]: patch for patch in map(yaml.safe_load, kind.config(shape)["kubeadmConfigPatches"])}


def test_gateway_and_prometheus_are_mapped_to_the_host():
    for shape in (LOCAL, OFFICIAL):
        mappings = kind.config(shape)["nodes"][0]["extraPortMappings"]
        assert [(m["containerPort"], m["hostPort"]) for m in mappings] == [(30080, 8080), (30090, 9090)]
        assert {m["listenAddress"] for m in mappings} == {shape.address}


def test_first_node_is_the_control_plane_and_names_are_those_of_kind():
    assert [node["role"] for node in kind.config(LOCAL)["nodes"]] == ["control-plane", "worker", "worker"]
    assert kind.node_names(3) == ["ivo-control-plane", "ivo-worker", "ivo-worker2"]
    assert kind.node_names(1) == ["ivo-control-plane"]


def test_our_node_image_names_its_own_etcd_and_dns():
    assert patches(LOCAL)["ClusterConfiguration"]["etcd"] == {"local": {"imageTag": "3.6.16-0"}}
    assert patches(LOCAL)["ClusterConfiguration"]["dns"] == {"imageTag": "v1.13.0"}


def test_official_image_is_left_as_it_is():
    assert "etcd" not in patches(OFFICIAL)["ClusterConfiguration"]
    assert set(kind.config(OFFICIAL)["networking"]) == {"ipFamily", "podSubnet", "serviceSubnet"}
    assert "containerdConfigPatches" not in kind.config(OFFICIAL)


def test_cures_are_applied_only_where_they_are_needed():
    assert patches(LOCAL)["KubeletConfiguration"] == {"kind": "KubeletConfiguration", "failCgroupV1": False}
    assert "KubeletConfiguration" not in patches(OFFICIAL)
    assert "restrict_oom_score_adj = true" in kind.config(LOCAL)["containerdConfigPatches"][0]


def test_kinds_own_controller_manager_argument_survives_the_patch():
    arguments = patches(OFFICIAL)["ClusterConfiguration"]["controllerManager"]["extraArgs"]
    assert {"name": "enable-hostpath-provisioner", "value": "true"} in arguments


@pytest.mark.parametrize(
    ("routes", "clash"),
    [
        ("default via 192.0.2.1 dev eth0\n192.0.2.0/24 dev eth0", None),
        ("10.88.0.0/16 dev podman0", "10.88.0.0/16 dev podman0"),
        ("10.88.0.0/24 dev ivo-host proto kernel", None),
        ("10.88.0.7 dev tun0", "10.88.0.7 dev tun0"),
        ("unreachable 10.0.0.0/8", None),
    ],
)
def test_a_network_in_use_is_seen(routes, clash):
    assert netns.overlapping(routes, ipaddress.IPv4Network("10.88.0.0/24")) == clash


def test_containers_get_no_rlimits_and_kinds_hook():
    spec = nodeimage.base_spec({"process": {"rlimits": [1], "cwd": "/"}})
    assert spec["process"] == {"cwd": "/"}
    assert spec["hooks"]["createContainer"] == [{"path": "/kind/bin/mount-product-files.sh"}]
