"""Counts what happened. It is told by the event loop alone, and read by the exporter in the same thread."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from inferenceversion_operator.differ.compare import Kind
from inferenceversion_operator.differ.histogram import LENGTH_BOUNDS, SCORE_BOUNDS, SECONDS_BOUNDS, Histogram
from inferenceversion_operator.differ.judge import Failed, Judgement, Outputs
from inferenceversion_operator.differ.labels import OTHER, LabelTable
from inferenceversion_operator.differ.plan import Plan
from inferenceversion_operator.differ.wire.tensors import FLOATS, Values

SIDES = ("stable", "candidate")
_FLIPS = 200  # pairs of labels
_BLOCK, _BLOCKS = 256, 4  # elements of a large output that are looked at for its distribution


class Drop(StrEnum):
    """Why a copy was not compared."""

    NOT_INFERENCE = "not_inference"  # another path or method: health, metadata, streams
    QUEUE_FULL = "queue_full"
    TOO_LARGE = "too_large"
    MEMORY = "memory"
    BROKEN = "broken"  # the copy did not arrive whole
    STOPPING = "stopping"
    ERROR = "error"  # a fault of the differ's own; the log has it


class Tally:
    """Everything that is counted.

    Every copy that arrives is counted once in ``received``, and once in ``dropped``, ``compared`` or ``failed``
    (stable or both; a failed candidate is ``compared``, too) when it is done with.
    """

    def __init__(self, plan: Plan) -> None:
        self.received = 0
        self.dropped: Counter[Drop] = Counter(dict.fromkeys(Drop, 0))
        self.compared = 0
        self.mismatched = 0
        self.failed: Counter[Failed] = Counter(dict.fromkeys(Failed, 0))
        self._outputs = [tensor.name for tensor in plan.outputs]
        kinds = (Kind.VALUE, Kind.SHAPE, Kind.MISSING)
        self.mismatches: Counter[tuple[str, Kind]] = Counter(
            {("", Kind.FAILED): 0, **{(name, kind): 0 for name in self._outputs for kind in kinds}}
        )
        self.noise_compared = 0
        self.noise_mismatched = 0
        self.labels: Counter[tuple[str, str, str]] = Counter()  # output, side, label
        self.flips: Counter[tuple[str, str, str]] = Counter()  # output, stable's label, the candidate's
        self.scores: dict[tuple[str, str], Histogram] = {
            (tensor.name, side): Histogram(SCORE_BOUNDS)
            for tensor in plan.outputs
            for side in SIDES
            if tensor.datatype in FLOATS
        }
        self.input_length = Histogram(LENGTH_BOUNDS)
        self.replay_seconds = {side: Histogram(SECONDS_BOUNDS) for side in SIDES}
        self._tables = {name: LabelTable() for name in self._outputs}

    def drop(self, why: Drop) -> None:
        self.dropped[why] += 1

    def judged(self, judgement: Judgement) -> None:
        """Count a candidate's answer beside stable's."""
        if judgement.failed:
            self.failed[judgement.failed] += 1
        if not judgement.compared:
            return
        self.compared += 1
        self.mismatched += judgement.mismatched
        for difference in judgement.differences:
            self.mismatches[difference.output, difference.kind] += 1
        self._distributions(judgement.stable, judgement.candidate)

    def judged_noise(self, judgement: Judgement) -> None:
        """Count stable's second answer beside its first; a failure of either says nothing about noise."""
        if judgement.compared and not judgement.failed:
            self.noise_compared += 1
            self.noise_mismatched += judgement.mismatched

    def _distributions(self, stable: Outputs, candidate: Outputs) -> None:
        for name in self._outputs:
            ours, theirs = stable.get(name), candidate.get(name)
            for side, values in zip(SIDES, (ours, theirs), strict=True):
                if values is None:
                    continue
                if values.datatype == "BYTES":
                    self.labels.update((name, side, label) for label in self._labels(name, values))
                elif (name, side) in self.scores and values.datatype in FLOATS:
                    self.scores[name, side].add_all(_looked_at(values))
            if ours and theirs and ours.datatype == theirs.datatype == "BYTES" and ours.data != theirs.data:
                self._flips(name, ours, theirs)

    def _labels(self, name: str, values: Values) -> Iterator[str]:
        return map(self._tables[name].label, _looked_at(values))

    def _flips(self, name: str, ours: Values, theirs: Values) -> None:
        if ours.count != theirs.count:
            return
        for before, after in zip(self._labels(name, ours), self._labels(name, theirs), strict=True):
            if before == after:
                continue
            pair = (name, before, after)
            if pair not in self.flips and len(self.flips) >= _FLIPS:
                pair = (name, OTHER, OTHER)
            self.flips[pair] += 1


def _looked_at(values: Values) -> Sequence[Any]:
    """Return all elements, or of a large tensor some blocks of them, the same places every time."""
    if values.count <= _BLOCK * _BLOCKS:
        return values.elements(0, values.count)
    starts = (values.count * block // _BLOCKS for block in range(_BLOCKS))
    return [element for start in starts for element in values.elements(start, start + _BLOCK)]
