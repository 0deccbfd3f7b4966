import pytest

from inferenceversion_operator.adapters.prometheus import PrometheusConfig
from inferenceversion_operator.config import load_config

LEAST = {"IVO_GUARD_IMAGE": "envoy:1", "IVO_FETCH_IMAGE": "operator:1"}
PROMETHEUS = {"IVO_PROMETHEUS_URL": "http://prometheus:9090"}


def test_the_least_that_is_needed_and_the_defaults():
    config = load_config(LEAST)
    assert config.namespaces == ()
    assert config.health_port == 8080
    assert config.settings.guard_image == "envoy:1"
    assert config.settings.gateway_parent_refs == ()
    assert config.settings.ready_deadline_s == 900
    assert config.settings.differ_image == "operator:1"
    assert config.prometheus is None
    assert config.settings.prometheus is False


def test_everything_as_the_chart_sets_it():
    config = load_config(
        LEAST
        | {
            "IVO_GATEWAY_PARENT_REFS": '[{"name": "public", "namespace": "gateways", "port": 443}]',
            "IVO_WATCH_NAMESPACES": "news, sports,",
            "IVO_LOG_LEVEL": "debug",
            "IVO_READY_DEADLINE_SECONDS": "60",
            "IVO_DIFFER_IMAGE": "differ:2",
            "IVO_PROMETHEUS_URL": "https://mimir.example/prometheus/",
            "IVO_PROMETHEUS_TIMEOUT_SECONDS": "2.5",
            "IVO_PROMETHEUS_BEARER_TOKEN_FILE": "/etc/token",
            "IVO_PROMETHEUS_CA_FILE": "/etc/ca.crt",
            "IVO_PROMETHEUS_HEADERS": '{"X-Scope-OrgID": "team-a|team-b"}',
        }
    )
    assert config.settings.gateway_parent_refs == ({"name": "public", "namespace": "gateways", "port": 443},)
    assert config.namespaces == ("news", "sports")
    assert config.log_level == "DEBUG"
    assert config.settings.ready_deadline_s == 60
    assert config.settings.differ_image == "differ:2"
    assert config.settings.prometheus is True
    assert config.prometheus == PrometheusConfig(
        "https://mimir.example/prometheus", 2.5, "/etc/token", "/etc/ca.crt", {"X-Scope-OrgID": "team-a|team-b"}
    )


@pytest.mark.parametrize(
    "url", ["http://p", "http://p.monitoring:9090/", "https://[fd00::1]:9090", "http://10.0.0.1/a/b"]
)
def test_urls_of_prometheus(url):
    config = load_config(LEAST | {"IVO_PROMETHEUS_URL": url})
    assert config.prometheus == PrometheusConfig(url.rstrip("/"))


def test_headers_may_be_secrets_and_are_not_told():
    secret = {"IVO_PROMETHEUS_URL": "http://p", "IVO_PROMETHEUS_HEADERS": '{"Authorization": "Basic c2VjcmV0"}'}
    config = load_config(LEAST | secret)
    assert config.prometheus
    assert config.prometheus.headers == {"Authorization": "Basic c2VjcmV0"}
    assert "c2VjcmV0" not in repr(config)
    with pytest.raises(SystemExit) as refused:
        load_config(LEAST | secret | {"IVO_PROMETHEUS_HEADERS": '{"Authorization": "c2VjcmV0\\n"}'})
    assert "c2VjcmV0" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"IVO_GUARD_IMAGE": ""}, "IVO_GUARD_IMAGE"),
        ({"IVO_FETCH_IMAGE": " "}, "IVO_FETCH_IMAGE"),
        ({"IVO_GATEWAY_PARENT_REFS": "public"}, "IVO_GATEWAY_PARENT_REFS"),
        ({"IVO_GATEWAY_PARENT_REFS": '["public"]'}, "IVO_GATEWAY_PARENT_REFS"),
        ({"IVO_GATEWAY_PARENT_REFS": '[{"nam": "public"}]'}, "IVO_GATEWAY_PARENT_REFS"),
        ({"IVO_GATEWAY_PARENT_REFS": '[{"name": "Public!"}]'}, "name of a Gateway"),
        ({"IVO_GATEWAY_DOMAIN": "*.example.com"}, "IVO_GATEWAY_DOMAIN"),
        ({"IVO_HEALTH_PORT": "http"}, "IVO_HEALTH_PORT"),
        ({"IVO_HEALTH_PORT": "70000"}, "IVO_HEALTH_PORT"),
        ({"IVO_READY_DEADLINE_SECONDS": "nan"}, "IVO_READY_DEADLINE_SECONDS"),
        ({"IVO_READY_DEADLINE_SECONDS": "inf"}, "IVO_READY_DEADLINE_SECONDS"),
        ({"IVO_READY_DEADLINE_SECONDS": "-1"}, "IVO_READY_DEADLINE_SECONDS"),
        ({"IVO_IMAGE_PULL_POLICY": "Sometimes"}, "IVO_IMAGE_PULL_POLICY"),
        ({"IVO_LOG_LEVEL": "loud"}, "IVO_LOG_LEVEL"),
        ({"IVO_WATCH_NAMESPACES": "news,a b"}, "IVO_WATCH_NAMESPACES"),
        ({"IVO_PROMETHEUS_URL": "prometheus:9090"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "ftp://prometheus"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://p:http"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://p:99999"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://user:word@p"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://p/?tenant=a"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://p a"}, "IVO_PROMETHEUS_URL"),
        ({"IVO_PROMETHEUS_URL": "http://[::1"}, "IVO_PROMETHEUS_URL"),
        (PROMETHEUS | {"IVO_PROMETHEUS_TIMEOUT_SECONDS": "0"}, "IVO_PROMETHEUS_TIMEOUT_SECONDS"),
        (PROMETHEUS | {"IVO_PROMETHEUS_TIMEOUT_SECONDS": "3600"}, "IVO_PROMETHEUS_TIMEOUT_SECONDS"),
        (PROMETHEUS | {"IVO_PROMETHEUS_HEADERS": "X-Scope-OrgID: a"}, "IVO_PROMETHEUS_HEADERS"),
        (PROMETHEUS | {"IVO_PROMETHEUS_HEADERS": '["a"]'}, "IVO_PROMETHEUS_HEADERS"),
        (PROMETHEUS | {"IVO_PROMETHEUS_HEADERS": '{"a b": "c"}'}, "IVO_PROMETHEUS_HEADERS"),
        (PROMETHEUS | {"IVO_PROMETHEUS_HEADERS": '{"a": 1}'}, "IVO_PROMETHEUS_HEADERS"),
        (PROMETHEUS | {"IVO_PROMETHEUS_HEADERS": '{"a": "b\\r\\nc: d"}'}, "IVO_PROMETHEUS_HEADERS"),
        (
            PROMETHEUS
            | {"IVO_PROMETHEUS_HEADERS": '{"authorization": "b"}', "IVO_PROMETHEUS_BEARER_TOKEN_FILE": "/token"},
            "Authorization",
        ),
    ],
)
def test_what_is_wrong_is_named(change, named):
    with pytest.raises(SystemExit, match=named):
        load_config(LEAST | change)
