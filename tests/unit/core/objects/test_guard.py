"""The bootstrap as text: goldens that a real Envoy accepts, exact buckets, and hostile strings that stay strings."""

from pathlib import Path

import pytest
import yaml

from inferenceversion_operator.core.objects.guard import (
    guard_args,
    guard_memory_bytes,
    make_guard_bootstrap,
    make_guard_yaml,
)
from inferenceversion_operator.core.objects.guard.limits import limits_of, size_buckets, time_buckets
from tests.support.envoy import listening_ports, validate
from tests.support.envoy_version import version

GOLDEN = Path(__file__).parents[3] / "golden" / "guard"
MIB = 1 << 20

CASES = {
    "a-plain-version": version(),
    "a-limit-on-concurrency": version(guardrails={"max_concurrency": 4}),
    "a-decoupled-model-keeps-streams-open": version(model={"format": "vllm"}, slo={"p95_ms": None, "p99_ms": 2500}),
    "a-slow-model-with-large-requests": version(
        guardrails={"max_request_bytes": 64 * MIB, "timeout_ms": 120_000},
        slo={"p95_ms": 31_500.5, "p99_ms": 60_000},
    ),
    "no-slo": version(slo={"p95_ms": None, "p99_ms": None}),
    "a-version-with-build-metadata": version(version="2.4.1-rc.1+build.7"),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name, request):
    path = GOLDEN / f"{name}.yaml"
    text = make_guard_yaml(CASES[name])
    if request.config.getoption("--rewrite-goldens", default=False):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
    assert yaml.safe_load(text) == make_guard_bootstrap(CASES[name])


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_golden_is_valid_for_envoy(path):
    assert path.stem in CASES, "nothing makes this golden any more"
    validate(path)


def test_same_version_gives_same_bytes():
    assert make_guard_yaml(version()) == make_guard_yaml(version())


def test_admin_listens_on_loopback_only():
    bootstrap = make_guard_bootstrap(version())
    assert bootstrap["admin"]["address"]["socket_address"] == {"address": "127.0.0.1", "port_value": 9901}
    assert set(listening_ports(bootstrap)) == {8000, 8001, 8080, 8081, 9901, 9902}


@pytest.mark.parametrize("slo", [(80, 100), (83, 97), (0.5, 12345), (None, 99.5), (1, 1)])
@pytest.mark.parametrize("timeout", [100, 5000, 600_000])
def test_buckets_hold_the_slo_and_the_timeout_exactly(slo, timeout):
    bounds = time_buckets(timeout, slo)
    assert list(bounds) == sorted(set(bounds))
    assert {float(value) for value in (*slo, timeout) if value} <= set(bounds)
    assert bounds[-1] >= 2 * timeout
    assert len(bounds) <= 50


@pytest.mark.parametrize("limit", [1, 256, 4096, 65_537, 2 * MIB, 1 << 30])
def test_size_buckets_end_at_the_limit(limit):
    bounds = size_buckets(limit)
    assert bounds[-1] == limit
    assert list(bounds) == sorted(set(bounds))


HOSTILE = [
    'x"\nadmin: {address: {socket_address: {address: 0.0.0.0, port_value: 1}}}\n#',
    "2.4.1\r\nset-cookie: a=b",
    "%REQ(authorization)%",
    "%DOWNSTREAM_REMOTE_ADDRESS%",
    "{{ x }} *anchor &ref !!python/object: yes",
    "é\x00\x1b\ud800\u2028",
    "'",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_stay_values(text, tmp_path):
    plain = make_guard_bootstrap(version())
    hostile = version(version=text, digest=text)
    rendered = make_guard_yaml(hostile)
    loaded = yaml.safe_load(rendered)
    assert loaded == make_guard_bootstrap(hostile)
    assert _shape(loaded) == _shape(plain)
    for value in _header_values(loaded, "x-inference-version"):
        assert value.isprintable()
        assert value.isascii()
        assert "%" not in value.replace("%%", "")
    (tmp_path / "envoy.yaml").write_text(rendered)
    validate(tmp_path / "envoy.yaml")


@pytest.mark.parametrize("size", [1, 4096, 2 * MIB, 64 * MIB, 1 << 30])
@pytest.mark.parametrize("concurrency", [None, 1, 64, 1000])
def test_memory_holds_every_body_that_may_be_in_it(size, concurrency):
    large = version(guardrails={"max_request_bytes": size, "max_concurrency": concurrency})
    limits = limits_of(large)
    assert limits.uploads >= (concurrency or 4)
    assert guard_memory_bytes(large) > limits.heap_bytes > limits.uploads * size
    assert concurrency or limits.uploads * size <= max(1 << 30, 4 * size)


def test_memory_is_modest_for_modest_limits():
    assert guard_memory_bytes(version(guardrails={"max_concurrency": 16})) < 300 * MIB
    assert guard_memory_bytes(version(guardrails={"max_request_bytes": 64 << 10})) < 300 * MIB


def test_args_name_the_config():
    assert guard_args("/etc/x/envoy.yaml")[:2] == ["-c", "/etc/x/envoy.yaml"]


def _shape(config):
    """Return the config with every value replaced by its type."""
    if isinstance(config, dict):
        return {key: _shape(value) for key, value in config.items()}
    if isinstance(config, list):
        return [_shape(value) for value in config]
    return type(config)


def _header_values(config, name):
    if isinstance(config, dict):
        if config.get("key") == name:
            yield config["value"]
        for value in config.values():
            yield from _header_values(value, name)
    elif isinstance(config, list):
        for value in config:
            yield from _header_values(value, name)
