"""Protobuf text format, written by hand: the operator needs no protobuf, and the same input gives the same bytes.

A message is a sequence of ``(field, value)``; a repeated field is a field given more than once, a map entry a
message of ``key`` and ``value``. An enum is an ``Enum``; every other string is quoted and escaped, so that no
value can end its own field.
"""

from collections.abc import Iterable, Iterator

INDENT = "  "


class Enum(str):
    """The name of an enum value: the one kind of string written without quotes; only our own constants."""

    __slots__ = ()


Scalar = str | int | bool
Field = tuple[str, "Scalar | Message"]
Message = Iterable[Field]


def to_text(message: Message) -> str:
    """Return the message in text format, one field a line.

    >>> print(to_text([("name", "a"), ("policy", [("kind", Enum("KIND_CPU"))])]), end="")
    name: "a"
    policy {
      kind: KIND_CPU
    }
    """
    return "".join(f"{line}\n" for line in _lines(message, ""))


def entry(key: str, value: Scalar | Message) -> list[Field]:
    """Return one entry of a map field."""
    return [("key", key), ("value", value)]


def _lines(message: Message, indent: str) -> Iterator[str]:
    for field, value in message:
        if isinstance(value, (str, int)):
            yield f"{indent}{field}: {_scalar(value)}"
        else:
            yield f"{indent}{field} {{"
            yield from _lines(value, indent + INDENT)
            yield f"{indent}}}"


def _scalar(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Enum)):
        return str(value)
    return f'"{"".join(_escape(byte) for byte in value.encode("utf-8", "replace"))}"'


def _escape(byte: int) -> str:
    """Return one byte of a quoted string; what is not plain ASCII goes as three octal digits."""
    if byte in b'"\\':
        return "\\" + chr(byte)
    if 0x20 <= byte < 0x7F:
        return chr(byte)
    return f"\\{byte:03o}"
