"""The operator's configuration: environment variables, as the chart sets them."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from inferenceversion_operator.core.snapshot import Settings


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
            image_pull_policy=environ.get("IVO_IMAGE_PULL_POLICY", "IfNotPresent"),
            gateway_parent_refs=_parent_refs(environ.get("IVO_GATEWAY_PARENT_REFS", "")),
            gateway_domain=environ.get("IVO_GATEWAY_DOMAIN", "inference.local"),
            ready_deadline_s=_number(environ, "IVO_READY_DEADLINE_SECONDS", 900.0),
        ),
        namespaces=tuple(name.strip() for name in environ.get("IVO_WATCH_NAMESPACES", "").split(",") if name.strip()),
        log_level=environ.get("IVO_LOG_LEVEL", "info").upper(),
        health_port=int(_number(environ, "IVO_HEALTH_PORT", 8080)),
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
        return tuple({str(k): v for k, v in ref.items()} for ref in refs)
    except (ValueError, AttributeError, TypeError) as error:
        raise SystemExit(f'IVO_GATEWAY_PARENT_REFS is not a JSON list like [{{"name": "gateway"}}]: {error}') from error


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    try:
        return float(text) if text else default
    except ValueError as error:
        raise SystemExit(f"{name} is not a number: {text!r}") from error
