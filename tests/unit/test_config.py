import pytest

from inferenceversion_operator.config import load_config

LEAST = {"IVO_GUARD_IMAGE": "envoy:1", "IVO_FETCH_IMAGE": "operator:1"}


def test_the_least_that_is_needed_and_the_defaults():
    config = load_config(LEAST)
    assert config.namespaces == ()
    assert config.health_port == 8080
    assert config.settings.guard_image == "envoy:1"
    assert config.settings.gateway_parent_refs == ()
    assert config.settings.ready_deadline_s == 900


def test_everything_as_the_chart_sets_it():
    config = load_config(
        LEAST
        | {
            "IVO_GATEWAY_PARENT_REFS": '[{"name": "public", "namespace": "gateways", "port": 443}]',
            "IVO_WATCH_NAMESPACES": "news, sports,",
            "IVO_LOG_LEVEL": "debug",
            "IVO_READY_DEADLINE_SECONDS": "60",
        }
    )
    assert config.settings.gateway_parent_refs == ({"name": "public", "namespace": "gateways", "port": 443},)
    assert config.namespaces == ("news", "sports")
    assert config.log_level == "DEBUG"
    assert config.settings.ready_deadline_s == 60


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
    ],
)
def test_what_is_wrong_is_named(change, named):
    with pytest.raises(SystemExit, match=named):
        load_config(LEAST | change)
