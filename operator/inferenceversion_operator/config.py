"""The operator's configuration: environment variables, as the chart sets them."""

import json
import logging
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from inferenceversion_operator.adapters.prometheus import PrometheusConfig
from inferenceversion_operator.api.names import SUBDOMAIN, SUBDOMAIN_MAX
from inferenceversion_operator.core.snapshot import Settings

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Config:
    settings: Settings
    namespaces: tuple[str, ...]  # empty: all
    log_level: str
    health_port: int
    prometheus: PrometheusConfig | None = None  # there is none to ask


def load_config(environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration.

    Raises:
        SystemExit: a variable is missing or malformed; the message names it.
    """
    prometheus = _prometheus(environ)
    fetch_image = _required(environ, "IVO_FETCH_IMAGE")
    return Config(
        settings=Settings(
            guard_image=_required(environ, "IVO_GUARD_IMAGE"),
            fetch_image=fetch_image,
            differ_image=environ.get("IVO_DIFFER_IMAGE", "").strip() or fetch_image,
            image_pull_policy=_one_of(environ, "IVO_IMAGE_PULL_POLICY", ("IfNotPresent", "Always", "Never")),
            gateway_parent_refs=_parent_refs(environ.get("IVO_GATEWAY_PARENT_REFS", "")),
            gateway_domain=_name(environ.get("IVO_GATEWAY_DOMAIN") or "inference.local", "IVO_GATEWAY_DOMAIN"),
            ready_deadline_s=_number(environ, "IVO_READY_DEADLINE_SECONDS", 900.0),
            prometheus=prometheus is not None,
        ),
        namespaces=_namespaces(environ.get("IVO_WATCH_NAMESPACES", "")),
        log_level=_log_level(environ.get("IVO_LOG_LEVEL") or "info"),
        health_port=int(_number(environ, "IVO_HEALTH_PORT", 8080, most=65535)),
        prometheus=prometheus,
    )


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise SystemExit(f"{name} is not set: the operator needs to know which image to put into pods")
    return value


def _prometheus(environ: Mapping[str, str]) -> PrometheusConfig | None:
    url = environ.get("IVO_PROMETHEUS_URL", "").strip()
    if not url:
        return None
    if find_spec("prometheus_api_client") is None:
        raise SystemExit("IVO_PROMETHEUS_URL is set, but the extra is missing: inferenceversion-operator[metrics]")
    headers = _headers(environ.get("IVO_PROMETHEUS_HEADERS", ""))
    token_file = environ.get("IVO_PROMETHEUS_BEARER_TOKEN_FILE", "").strip()
    if token_file and any(name.lower() == "authorization" for name in headers):
        raise SystemExit("IVO_PROMETHEUS_HEADERS has an Authorization beside IVO_PROMETHEUS_BEARER_TOKEN_FILE")
    return PrometheusConfig(
        url=_url(url, "IVO_PROMETHEUS_URL"),
        timeout_s=_number(environ, "IVO_PROMETHEUS_TIMEOUT_SECONDS", 5.0, most=60),
        bearer_token_file=token_file,
        ca_file=environ.get("IVO_PROMETHEUS_CA_FILE", "").strip(),
        headers=headers,
    )


def _url(text: str, what: str) -> str:
    """Return the URL without a slash at its end; a password in it would be told in every message."""
    wrong = SystemExit(f"{what} is not a URL like http://prometheus.monitoring:9090, without user, query or fragment")
    try:
        parts = urlsplit(text)
        port_is_a_number = parts.port is None or parts.port > 0
    except ValueError:
        raise wrong from None
    plain = not (parts.username or parts.password or parts.query or parts.fragment) and text.isprintable()
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_a_number or not plain or " " in text:
        raise wrong
    return text.rstrip("/")


def _headers(text: str) -> dict[str, str]:
    """Return HTTP headers; their values may be secrets, so no message repeats one."""
    wrong = SystemExit('IVO_PROMETHEUS_HEADERS is not a JSON object of headers like {"X-Scope-OrgID": "team-a"}')
    try:
        headers = json.loads(text or "{}")
    except ValueError:
        raise wrong from None
    if not isinstance(headers, dict):
        raise wrong
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not isinstance(value, str) or not _is_header_value(value):
            raise wrong
    return headers


def _is_header_value(text: str) -> bool:
    return bool(text) and text == text.strip() and all(" " <= letter <= "~" for letter in text)


def _parent_refs(text: str) -> tuple[Mapping[str, str], ...]:
    if not text.strip():
        return ()
    try:
        refs = json.loads(text)
        for ref in refs:
            _name(ref["name"], "the name of a Gateway")
        return tuple({str(k): v for k, v in ref.items()} for ref in refs)
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise SystemExit(f'IVO_GATEWAY_PARENT_REFS is not a JSON list like [{{"name": "gateway"}}]: {error}') from error


def _number(environ: Mapping[str, str], name: str, default: float, most: float = 1e9) -> float:
    text = environ.get(name, "")
    try:
        number = float(text) if text else default
    except ValueError as error:
        raise SystemExit(f"{name} is not a number: {text!r}") from error
    if not math.isfinite(number) or not 0 < number <= most:
        raise SystemExit(f"{name} is not between 0 and {most:g}: {text!r}")
    return number


def _one_of(environ: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    value = environ.get(name) or known[0]
    if value not in known:
        raise SystemExit(f"{name} is {value!r}: write one of {', '.join(known)}")
    return value


def _log_level(text: str) -> str:
    level = text.upper()
    if level not in logging.getLevelNamesMapping():
        raise SystemExit(f"IVO_LOG_LEVEL is {text!r}: write one of debug, info, warning, error")
    return level


def _namespaces(text: str) -> tuple[str, ...]:
    return tuple(_name(name.strip(), "IVO_WATCH_NAMESPACES") for name in text.split(",") if name.strip())


def _name(text: str, what: str) -> str:
    if not SUBDOMAIN.fullmatch(text) or len(text) > SUBDOMAIN_MAX:
        raise SystemExit(f"{what} is {text!r}, which is no DNS name: lower-case letters, digits, - and .")
    return text
