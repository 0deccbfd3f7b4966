"""Compares the outputs of two answers by the contract; pure.

Integers, BOOL and BYTES have to be the same; floats may be apart by ``absolute + relative * |stable|``. NaN is like
NaN, an infinity like itself. Elements are compared place by place, so rows of a batch that were mixed up differ.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inferenceversion_operator.api.types import Tensor, Tolerance
from inferenceversion_operator.differ.wire.tensors import FLOATS, SIZES, Values

_CHUNK = 1024  # elements that are compared as bytes first
_SHOWN = 8  # elements of one output that a difference names


class Kind(StrEnum):
    """How an output differs."""

    VALUE = "value"
    SHAPE = "shape"  # or datatype
    MISSING = "missing"  # on one side
    FAILED = "failed"  # the candidate gave no answer where stable did


@dataclass(frozen=True, slots=True)
class Element:
    """One place at which two tensors differ; ``index`` counts row by row."""

    index: int
    stable: Any
    candidate: Any


@dataclass(frozen=True, slots=True)
class Difference:
    """One output that differs.

    Attributes:
        output: its name; empty where there is no answer.
        detail: one sentence for people.
        count: elements that differ.
        rows: the first entries of the batch that differ; empty where there is no batch.
        elements: the first elements that differ.
    """

    output: str
    kind: Kind
    detail: str
    count: int = 0
    rows: tuple[int, ...] = ()
    elements: tuple[Element, ...] = ()


def compare(
    contract: Iterable[Tensor],
    tolerance: Tolerance,
    stable: Mapping[str, Values],
    candidate: Mapping[str, Values],
) -> tuple[Difference, ...]:
    """Return what differs, an entry an output; an output that neither answer has was not asked for."""
    found = (_compare(tensor, tolerance, stable.get(tensor.name), candidate.get(tensor.name)) for tensor in contract)
    return tuple(difference for difference in found if difference)


def _compare(
    tensor: Tensor, tolerance: Tolerance, stable: Values | None, candidate: Values | None
) -> Difference | None:
    if stable is None and candidate is None:
        return None
    if stable is None or candidate is None:
        lacks = "stable" if stable is None else "the candidate"
        return Difference(tensor.name, Kind.MISSING, f"{lacks} did not answer with it")
    if (stable.datatype, stable.shape) != (candidate.datatype, candidate.shape):
        both = f"stable {_type(stable)}, candidate {_type(candidate)}"
        return Difference(tensor.name, Kind.SHAPE, both)
    if stable.data == candidate.data:
        return None
    return _values(tensor, tolerance, stable, candidate)


def _values(tensor: Tensor, tolerance: Tolerance, stable: Values, candidate: Values) -> Difference | None:
    count, shown, rows = 0, list[Element](), dict[int, None]()
    width = _row_width(tensor, stable)
    for element in _differing(tolerance, stable, candidate):
        count += 1
        if len(shown) < _SHOWN:
            shown.append(element)
        if width and len(rows) < _SHOWN:
            rows[element.index // width] = None
    if not count:
        return None
    detail = f"{count} of {stable.count} elements differ"
    if width and count > 1 and _mixed_up(stable, candidate):
        detail += "; they are stable's rows in another order"
    return Difference(tensor.name, Kind.VALUE, detail, count, tuple(rows), tuple(shown))


def _differing(tolerance: Tolerance, stable: Values, candidate: Values) -> Iterator[Element]:
    """Yield the elements that differ; only chunks whose bytes differ are looked into."""
    wide = 1 if isinstance(stable.data, tuple) else SIZES[stable.datatype]
    floats = stable.datatype in FLOATS
    for start in range(0, stable.count, _CHUNK):
        stop = start + _CHUNK
        if stable.data[start * wide : stop * wide] == candidate.data[start * wide : stop * wide]:
            continue
        ours, theirs = stable.elements(start, stop), candidate.elements(start, stop)
        places = _far(ours, theirs, tolerance) if floats else _unlike(ours, theirs)
        for place in places:
            yield Element(start + place, ours[place], theirs[place])


def _unlike(ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[int]:
    return (place for place, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)


def _far(ours: Sequence[float], theirs: Sequence[float], tolerance: Tolerance) -> Iterator[int]:
    """Yield the places at which the candidate's number is further from stable's than allowed."""
    absolute, relative = tolerance.absolute, tolerance.relative
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        # Of an infinity or a NaN the distance is NaN or infinite, so the first test fails and the second decides.
        if abs(other - one) <= absolute + relative * abs(one) and math.isfinite(one):
            continue
        if one == other or (one != one and other != other):  # noqa: PLR0124 - NaN alone is unlike itself
            continue
        yield place


def _row_width(tensor: Tensor, values: Values) -> int:
    """Return how many elements an entry of the batch has; 0 where there is no batch dimension."""
    batched = len(values.shape) == len(tensor.shape) + 1
    return math.prod(values.shape[1:]) if batched else 0


def _mixed_up(stable: Values, candidate: Values) -> bool:
    return sorted(stable.rows()) == sorted(candidate.rows())


def _type(values: Values) -> str:
    return f"{values.datatype}{list(values.shape)}"
