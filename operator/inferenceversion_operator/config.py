"""The operator's configuration: environment variables, as the chart sets them."""

import json
import logging
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from inferenceversion_operator.core.snapshot import Settings

_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Config:
    settings: Settings
    namespaces: tuple[str, ...]  # empty: all
    log_level: str
    health_port: int


def load_config(environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration.

    Raises:
        SystemExit: a variable is missing or malformed; the message names it.
    """
    return Config(
        settings=Settings(
            guard_image=_required(environ, "IVO_GUARD_IMAGE"),
            fetch_image=_required(environ, "IVO_FETCH_IMAGE"),
            image_pull_policy=_one_of(environ, "IVO_IMAGE_PULL_POLICY", ("IfNotPresent", "Always", "Never")),
            gateway_parent_refs=_parent_refs(environ.get("IVO_GATEWAY_PARENT_REFS", "")),
            gateway_domain=_name(environ.get("IVO_GATEWAY_DOMAIN") or "inference.local", "IVO_GATEWAY_DOMAIN"),
            ready_deadline_s=_number(environ, "IVO_READY_DEADLINE_SECONDS", 900.0),
        ),
        namespaces=_namespaces(environ.get("IVO_WATCH_NAMESPACES", "")),
        log_level=_log_level(environ.get("IVO_LOG_LEVEL") or "info"),
        health_port=int(_number(environ, "IVO_HEALTH_PORT", 8080, most=65535)),
    )


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise SystemExit(f"{name} is not set: the operator needs to know which image to put into pods")
    return value


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
    if not _DNS_NAME.fullmatch(text) or len(text) > 253:
        raise SystemExit(f"{what} is {text!r}, which is no DNS name: lower-case letters, digits, - and .")
    return text
