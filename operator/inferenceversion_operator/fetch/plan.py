"""``fetch.json``, typed: what to get, the hashes it must have, where it goes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from inferenceversion_operator.fetch.errors import FetchError, Reason
from inferenceversion_operator.fetch.paths import plan_path

_MAX_BYTES = 1 << 20
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Part:
    name: str  # preprocessor or postprocessor
    path: str
    hash: str


@dataclass(frozen=True, slots=True)
class Move:
    source: str
    to: str


@dataclass(frozen=True, slots=True)
class Config:
    key: str
    to: str


@dataclass(frozen=True, slots=True)
class Plan:
    source: str
    weight_hash: str
    layout: tuple[Move, ...]
    mounted: str | None = None
    file_name: str | None = None
    parts: tuple[Part, ...] = ()
    needs: tuple[str, ...] = ()  # files or folders that have to come out of the layout
    configs: tuple[Config, ...] = ()
    allow_insecure: bool = False  # http:// as source; hashes still hold, secrets travel in the clear
    allow_loopback: bool = False  # for tests; no field of the custom resource leads here


def load_plan(path: Path) -> Plan:
    """Return the plan of the file ``path``.

    Raises:
        FetchError: PlanInvalid, naming the field.
    """
    try:
        text = path.read_bytes()[: _MAX_BYTES + 1]
        if len(text) > _MAX_BYTES:
            raise _wrong("it is larger than 1 MiB")
        document = json.loads(text)
    except OSError as error:
        raise _wrong(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise _wrong(f"{path} is not JSON") from None
    return parse_plan(document)


def parse_plan(document: Any) -> Plan:
    """Return the plan that ``document``, the parsed JSON, spells."""
    top = _Fields(document, "")
    return Plan(
        source=_source(top.get("source", str)),
        weight_hash=_hash(top.get("weightHash", str), "weightHash"),
        mounted=top.maybe("mounted", str, None),
        file_name=_file_name(top.maybe("fileName", str, None)),
        parts=tuple(_part(fields) for fields in top.each("parts")),
        layout=tuple(_move(fields) for fields in top.each("layout")) or (Move(".", "."),),
        needs=tuple(plan_path(text, "needs") for text in top.texts("needs")),
        configs=tuple(_config(fields) for fields in top.each("configs")),
        allow_insecure=top.maybe("allowInsecure", bool, default=False),
        allow_loopback=top.maybe("allowLoopback", bool, default=False),
    )


class _Fields:
    """The fields of one JSON object; remembers where it stands, for messages."""

    def __init__(self, document: Any, where: str) -> None:
        if not isinstance(document, Mapping):
            raise _wrong(f"{where or 'it'} is not a JSON object")
        self._document = document
        self.where = where

    def name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, kind: type[_T]) -> _T:
        value = self._document.get(key)
        if not isinstance(value, kind):
            raise _wrong(f"{self.name(key)} is missing or not a {kind.__name__}")
        return value

    def maybe(self, key: str, kind: type[_T], default: Any) -> Any:
        return default if self._document.get(key) is None else self.get(key, kind)

    def path(self, key: str) -> str:
        return plan_path(self.get(key, str), self.name(key))

    def each(self, key: str) -> "list[_Fields]":
        entries: list[Any] = self.maybe(key, list, [])
        return [_Fields(entry, f"{key}[{index}]") for index, entry in enumerate(entries)]

    def texts(self, key: str) -> list[str]:
        entries: list[Any] = self.maybe(key, list, [])
        if not all(isinstance(entry, str) for entry in entries):
            raise _wrong(f"{self.name(key)} is not a list of strings")
        return entries


def _part(fields: _Fields) -> Part:
    name = fields.get("name", str)
    if name not in ("preprocessor", "postprocessor"):
        raise _wrong(f"{fields.name('name')} is neither preprocessor nor postprocessor")
    path = fields.path("path")
    if path == ".":
        raise _wrong(f"{fields.name('path')} is the whole source")
    return Part(name, path, _hash(fields.get("hash", str), fields.name("hash")))


def _move(fields: _Fields) -> Move:
    return Move(fields.path("from"), fields.path("to"))


def _config(fields: _Fields) -> Config:
    key, to = fields.get("key", str), fields.path("to")
    if not _KEY.fullmatch(key) or key.startswith("..") or to == ".":
        raise _wrong(f"{fields.where} has no valid key or no file to write it to")
    return Config(key, to)


def _source(text: str) -> str:
    if not text.isascii() or any(ord(char) <= 32 for char in text):
        raise _wrong("source has spaces or characters that no URL has: percent-encode them")
    return text


def _hash(text: str, field: str) -> str:
    if not _HASH.fullmatch(text):
        raise _wrong(f"{field} is not sha256: and 64 hex digits in lower case")
    return text


def _file_name(text: str | None) -> str | None:
    if text is not None and ("/" in plan_path(text, "fileName") or text in ("", ".")):
        raise _wrong("fileName is not the name of a file")
    return text


def _wrong(what: str) -> FetchError:
    return FetchError(Reason.PLAN_INVALID, f"fetch.json: {what}")
