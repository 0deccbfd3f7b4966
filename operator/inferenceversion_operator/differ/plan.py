"""``differ.json``, typed: which two versions are asked, what counts as equal, what it may cost."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferenceversion_operator.api.types import Tensor, Tolerance

_MAX_BYTES = 1 << 20


class PlanInvalidError(Exception):
    """The plan can't be used; the message names the field."""


@dataclass(frozen=True, slots=True)
class Side:
    """A version as it is asked: its Service, not the Gateway."""

    version: str
    name: str  # of the InferenceVersion
    host: str
    http_port: int
    grpc_port: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What the differ may cost others and itself.

    Attributes:
        concurrency: comparisons at once; each version has at most as many replays to answer.
        queue: copies that wait; one more is dropped.
        memory_bytes: of all bodies together, of requests and of answers.
        request_bytes: of one request's body.
        response_bytes: of one answer's body.
        timeout_s: until one replay has its whole answer.
    """

    concurrency: int
    queue: int
    memory_bytes: int
    request_bytes: int
    response_bytes: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What one differ does.

    Attributes:
        outputs: of the contract; shapes without the batch dimension. Other outputs are not compared.
        self_share: share of the requests on which stable is compared with itself, 0 to 1.
        sample_size: differences that are kept for people to look at.
        keep_payloads: the sample holds requests and answers, too.
    """

    namespace: str
    endpoint: str
    stable: Side
    candidate: Side
    outputs: tuple[Tensor, ...]
    tolerance: Tolerance
    limits: Limits
    self_share: float
    sample_size: int
    keep_payloads: bool


def load_plan(path: Path) -> Plan:
    """Return the plan of the file ``path``.

    Raises:
        PlanInvalidError: it can't be read, is not JSON, or lacks a field.
    """
    try:
        text = path.read_bytes()[: _MAX_BYTES + 1]
    except OSError as error:
        raise PlanInvalidError(f"{path} can't be read: {error.strerror}") from None
    if len(text) > _MAX_BYTES:
        raise PlanInvalidError(f"{path} is larger than 1 MiB")
    return read_plan(text)


def read_plan(text: bytes | str) -> Plan:
    """Return the plan that is spelled by ``text``."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise PlanInvalidError("differ.json is not JSON") from None
    top = _Fields(document, "")
    return Plan(
        namespace=top.text("namespace"),
        endpoint=top.text("endpoint"),
        stable=_side(top.inner("stable")),
        candidate=_side(top.inner("candidate")),
        outputs=tuple(_tensor(fields) for fields in top.each("outputs")),
        tolerance=_tolerance(top.inner("tolerance")),
        limits=_limits(top.inner("limits")),
        self_share=top.number("selfShare", 0, 1),
        sample_size=top.whole("sampleSize", 0, 1000),
        keep_payloads=top.flag("keepPayloads"),
    )


class _Fields:
    """The fields of one JSON object; remembers where it stands, for messages."""

    def __init__(self, document: Any, where: str) -> None:
        if not isinstance(document, Mapping):
            raise PlanInvalidError(f"differ.json: {where or 'it'} is not a JSON object")
        self._document = document
        self._where = where

    def _name(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key

    def _wrong(self, key: str, what: str) -> PlanInvalidError:
        return PlanInvalidError(f"differ.json: {self._name(key)} is {what}")

    def text(self, key: str) -> str:
        value = self._document.get(key)
        if not isinstance(value, str) or not value:
            raise self._wrong(key, "missing or no text")
        return value

    def number(self, key: str, least: float, most: float) -> float:
        value = self._document.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise self._wrong(key, "missing or no number")
        if not least <= value <= most:
            raise self._wrong(key, f"not between {least:g} and {most:g}")
        return float(value)

    def whole(self, key: str, least: int, most: int) -> int:
        value = self.number(key, least, most)
        if value != int(value):
            raise self._wrong(key, "no whole number")
        return int(value)

    def flag(self, key: str) -> bool:
        value = self._document.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "neither true nor false")
        return value

    def inner(self, key: str) -> "_Fields":
        return _Fields(self._document.get(key), self._name(key))

    def each(self, key: str) -> "list[_Fields]":
        entries = self._document.get(key)
        if not isinstance(entries, list):
            raise self._wrong(key, "missing or no list")
        return [_Fields(entry, f"{self._name(key)}[{index}]") for index, entry in enumerate(entries)]

    def sizes(self, key: str) -> tuple[int, ...]:
        entries = self._document.get(key)
        if not isinstance(entries, list) or not all(type(entry) is int and entry >= -1 for entry in entries):
            raise self._wrong(key, "missing or no list of sizes")
        return tuple(entries)


def _side(fields: _Fields) -> Side:
    return Side(
        version=fields.text("version"),
        name=fields.text("name"),
        host=fields.text("host"),
        http_port=fields.whole("httpPort", 1, 65535),
        grpc_port=fields.whole("grpcPort", 1, 65535),
    )


def _tensor(fields: _Fields) -> Tensor:
    return Tensor(fields.text("name"), fields.text("datatype"), fields.sizes("shape"))


def _tolerance(fields: _Fields) -> Tolerance:
    return Tolerance(fields.number("absolute", 0, math.inf), fields.number("relative", 0, math.inf))


def _limits(fields: _Fields) -> Limits:
    return Limits(
        concurrency=fields.whole("concurrency", 1, 1024),
        queue=fields.whole("queue", 1, 100_000),
        memory_bytes=fields.whole("memoryBytes", 1, 1 << 40),
        request_bytes=fields.whole("requestBytes", 1, 1 << 31),
        response_bytes=fields.whole("responseBytes", 1, 1 << 31),
        timeout_s=fields.number("timeoutSeconds", 0.001, 86_400),
    )
