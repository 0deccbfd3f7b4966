"""Small pieces of Envoy's configuration that several files of the guard use."""

from typing import Any

Config = dict[str, Any]

LOOPBACK = "127.0.0.1"


def typed(kind: str, **fields: Any) -> Config:
    """Return an ``Any`` of Envoy's API: its type and its fields."""
    return {"@type": f"type.googleapis.com/{kind}", **fields}


def extension(name: str, kind: str, **fields: Any) -> Config:
    """Return a named extension with its typed configuration."""
    return {"name": name, "typed_config": typed(kind, **fields)}


def socket(address: str, port: int) -> Config:
    return {"socket_address": {"address": address, "port_value": port}}


def duration(milliseconds: float) -> str:
    """Return a protobuf duration.

    >>> duration(1500)
    '1.5s'
    """
    return f"{milliseconds / 1000:.9f}".rstrip("0").rstrip(".") + "s"


def literal(text: str) -> str:
    """Return ``text`` as the value of a header: one line of ASCII, and no command of Envoy's in it.

    >>> literal("2.4.0")
    '2.4.0'
    >>> literal("%REQ(cookie)%")
    '%%REQ(cookie)%%'
    """
    return printable(text).replace("%", "%%")


def printable(text: str) -> str:
    """Return ``text`` as one line of ASCII.

    >>> printable("2.4.1+build.7")
    '2.4.1+build.7'
    """
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text)


def header(name: str, value: str) -> Config:
    """Return a header that replaces whatever upstream called by the same name."""
    return {"header": {"key": name, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
