"""What a record of live traffic says: how many, how many failed, which version answered, how fast; pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from demo.ask import Answer, NoAnswer


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of a stretch of traffic; latencies in milliseconds, as the client saw them."""

    failed: tuple[NoAnswer, ...]
    by_version: Mapping[str, int]
    p95: float
    p99: float

    @property
    def requests(self) -> int:
        return len(self.failed) + sum(self.by_version.values())


def tally(records: Iterable[Answer | NoAnswer]) -> Tally:
    """Count a record."""
    answers, failed = [], []
    for record in records:
        if isinstance(record, Answer):
            answers.append(record)
        else:
            failed.append(record)
    times = sorted(answer.milliseconds for answer in answers)
    versions = Counter(answer.version for answer in answers)
    return Tally(tuple(failed), dict(sorted(versions.items())), quantile(times, 0.95), quantile(times, 0.99))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value that this share of the others does not exceed; 0 of none.

    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.99), quantile([], 0.5)
    (2, 4, 0.0)
    """
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def in_words(tally: Tally) -> str:
    """Return the numbers in a line."""
    answered = ", ".join(f"{version} answered {count}" for version, count in tally.by_version.items())
    numbers = f"{tally.requests} requests, {len(tally.failed)} failed"
    return f"{numbers}; {answered}; p95 {tally.p95:.0f} ms, p99 {tally.p99:.0f} ms" if answered else numbers


def answered_by(records: Iterable[Answer | NoAnswer], version: str) -> list[Answer]:
    """Return the answers of a version."""
    return [record for record in records if isinstance(record, Answer) and record.version == version]


def only(records: Sequence[Answer | NoAnswer], version: str, since: float, count: int) -> bool:
    """Say whether the newest ``count`` records, all sent after ``since``, are answers of this version alone."""
    newest = [record for record in records if record.sent > since][-count:]
    return len(newest) == count and len(answered_by(newest, version)) == count


def last_answer(records: Iterable[Answer | NoAnswer], version: str, ended: float) -> str:
    """Say when the last answer of a version came, held against the end of a command."""
    came = max((answer.came for answer in answered_by(records, version)), default=None)
    if came is None:
        return f"{version} answered nothing"
    after = came - ended
    when = f"{after:.2f} s after" if after > 0 else f"{-after:.2f} s before"
    return f"the last answer of {version} came {when} its end"
