"""What a machine lacks is said in words, before anything is built."""

from dataclasses import replace

import pytest

from dev.needs import Facts, missing, parse_capabilities, parse_go_version

ALL_CAPABILITIES = (1 << 41) - 1
GOOD = Facts(
    uid=0,
    docker_group=False,
    docker_answers=False,
    go=(1, 26),
    free_gb=80.0,
    built=False,
    architecture="x86_64",
    cgroup_v2=True,
    cgroups_mounted=True,
    capabilities=ALL_CAPABILITIES,
    apt=True,
    absent_programs=(),
)


def test_a_good_machine_lacks_nothing():
    assert missing(GOOD, local=True) == []
    assert missing(replace(GOOD, uid=1000, docker_answers=True), local=False) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"go": None}, "Go >= 1.26 (seen: none)"),
        ({"go": (1, 25)}, "Go >= 1.26 (seen: 1.25)"),
        ({"free_gb": 3.0}, "15 GB of disk for the cache (free: 3 GB)"),
        ({"free_gb": 1.0, "built": True}, "3 GB of disk for the cache (free: 1 GB)"),
        ({"architecture": "aarch64"}, "x86_64 (this is aarch64; Envoy and Triton are wheels for x86_64)"),
        ({"uid": 1000}, "root (or a Docker engine that answers and can pull images)"),
        ({"capabilities": 0}, "the capabilities SYS_ADMIN and NET_ADMIN"),
        ({"cgroups_mounted": False}, "a cgroup hierarchy at /sys/fs/cgroup"),
        ({"apt": False, "absent_programs": ("dockerd",)}, "apt, or these programs: dockerd"),
    ],
)
def test_each_lack_has_its_sentence(change, said):
    assert missing(replace(GOOD, **change), local=True) == [said]


def test_go_beyond_the_minimum_is_fine():
    assert missing(replace(GOOD, go=(2, 0)), local=True) == []


def test_absent_programs_are_fine_where_apt_can_install_them():
    assert missing(replace(GOOD, absent_programs=("dockerd", "mmdebstrap")), local=True) == []


def test_without_an_engine_the_official_source_needs_the_group():
    assert missing(replace(GOOD, uid=1000), local=False) == ["root, or membership in the group docker"]


def test_the_runc_wrapper_is_for_root_that_may_not_raise_limits():
    assert not GOOD.needs_runc_wrapper
    assert replace(GOOD, capabilities=0x1FFFEFFFFFF).needs_runc_wrapper


def test_parsing():
    assert parse_go_version("go version go1.26.8 linux/amd64") == (1, 26)
    assert parse_go_version("no go") is None
    assert parse_capabilities("CapInh:\t0\nCapEff:\t000001fffeffffff\n") == 0x1FFFEFFFFFF
