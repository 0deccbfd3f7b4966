"""One form for a tensor, whatever way it came: little-endian bytes, or a list of byte strings for BYTES."""

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# Bytes an element, and its letter in struct, which knows no BF16.
_TYPES = {
    "BOOL": (1, "?"),
    "UINT8": (1, "B"),
    "UINT16": (2, "H"),
    "UINT32": (4, "I"),
    "UINT64": (8, "Q"),
    "INT8": (1, "b"),
    "INT16": (2, "h"),
    "INT32": (4, "i"),
    "INT64": (8, "q"),
    "FP16": (2, "e"),
    "BF16": (2, ""),
    "FP32": (4, "f"),
    "FP64": (8, "d"),
}
SIZES = {datatype: size for datatype, (size, _) in _TYPES.items()}
_LETTERS = {datatype: letter for datatype, (_, letter) in _TYPES.items() if letter}
FLOATS = frozenset({"FP16", "BF16", "FP32", "FP64"})
_DIMENSIONS = 16  # the contract allows 8, a batch adds one


class UndecodableError(ValueError):
    """What came is not what the protocol says; the message says what is wrong, never what the data is."""


@dataclass(frozen=True, slots=True)
class Values:
    """A tensor with its elements: ``data`` is their bytes one after the other, or one entry an element of BYTES."""

    datatype: str
    shape: tuple[int, ...]
    data: bytes | tuple[bytes, ...]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def elements(self, start: int, stop: int) -> Sequence[Any]:
        """Return the elements from ``start`` up to ``stop`` as Python values: bytes, int, bool or float."""
        if isinstance(self.data, tuple):
            return self.data[start:stop]
        size = SIZES[self.datatype]
        raw = self.data[start * size : stop * size]
        if self.datatype == "BF16":
            return _unpack("f", 4, _widened(raw))
        return _unpack(_LETTERS[self.datatype], size, raw)

    def rows(self) -> Iterator[bytes | tuple[bytes, ...]]:
        """Yield the data of each entry of the first dimension."""
        width = math.prod(self.shape[1:])
        width *= 1 if isinstance(self.data, tuple) else SIZES[self.datatype]
        for start in range(0, len(self.data), width or 1):
            yield self.data[start : start + width]


def read_shape(sizes: Any) -> tuple[int, ...]:
    """Return a shape that was sent."""
    try:
        shape = tuple(sizes)
    except TypeError:
        raise UndecodableError("a shape is no list") from None
    if len(shape) > _DIMENSIONS or not all(type(size) is int and 0 <= size < 1 << 31 for size in shape):
        raise UndecodableError("a shape has too many dimensions, or one that is no size")
    return shape


def from_binary(datatype: str, shape: tuple[int, ...], raw: bytes) -> Values:
    """Return the tensor of the binary form: elements in a row, each string behind its length in 4 bytes."""
    count = math.prod(shape)
    if datatype == "BYTES":
        return Values(datatype, shape, tuple(_strings(count, raw)))
    if datatype not in SIZES:
        raise UndecodableError("a datatype is none of the protocol's")
    if len(raw) != count * SIZES[datatype]:
        raise UndecodableError(f"a tensor has {len(raw)} bytes, its shape wants {count * SIZES[datatype]}")
    return Values(datatype, shape, raw)


def from_elements(datatype: str, shape: tuple[int, ...], elements: Sequence[Any]) -> Values:
    """Return the tensor of elements that came one by one; floats are rounded to what the datatype holds."""
    count = math.prod(shape)
    if len(elements) != count:
        raise UndecodableError(f"a tensor has {len(elements)} elements, its shape wants {count}")
    if datatype == "BYTES":
        return Values(datatype, shape, tuple(elements))
    if datatype not in _LETTERS:
        raise UndecodableError("a datatype has no such form")
    try:
        return Values(datatype, shape, struct.pack(f"<{count}{_LETTERS[datatype]}", *elements))
    except (struct.error, OverflowError, TypeError, ValueError):
        raise UndecodableError(f"an element is no {datatype}") from None


def flat(data: Any, depth: int) -> list[Any]:
    """Return the elements of lists within lists, at most ``depth`` deep, row by row."""
    if not isinstance(data, list):
        raise UndecodableError("data is no list")
    elements: list[Any] = data
    while elements and isinstance(elements[0], list):
        depth -= 1
        if depth < 1 or not all(isinstance(entry, list) for entry in elements):
            raise UndecodableError("data is not nested as its shape is")
        elements = [element for entry in elements for element in entry]
    return elements


def _strings(count: int, raw: bytes) -> Iterable[bytes]:
    at = 0
    for _ in range(count):
        start = at + 4
        at = start + int.from_bytes(raw[at:start], "little")
        if at > len(raw) or start > len(raw):
            raise UndecodableError("a string is longer than what is there")
        yield raw[start:at]
    if at != len(raw):
        raise UndecodableError("there is more than the shape wants")


def _unpack(letter: str, size: int, raw: bytes) -> tuple[Any, ...]:
    return struct.unpack(f"<{len(raw) // size}{letter}", raw)


def _widened(raw: bytes) -> bytes:
    """Return BF16 as FP32: it is the upper half."""
    wide = bytearray(len(raw) * 2)
    wide[2::4] = raw[0::2]
    wide[3::4] = raw[1::2]
    return bytes(wide)
