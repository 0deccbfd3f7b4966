"""What the measurements of ``bench.releases`` are reduced to; pure."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from demo.tally import quantile

_STICKY_VALUES = 256  # a session is split by the last two hex digits of its hash


def spread(values: Iterable[float], digits: int = 3) -> dict[str, float]:
    """Return p50, p95, p99, the largest and how many there are.

    >>> spread([0.1, 0.2, 0.3, 0.4])
    {'p50': 0.2, 'p95': 0.4, 'p99': 0.4, 'max': 0.4, 'of': 4}
    """
    ordered = sorted(values)
    named = {f"p{share}": round(quantile(ordered, share / 100), digits) for share in (50, 95, 99)}
    return {**named, "max": round(ordered[-1], digits) if ordered else 0.0, "of": len(ordered)}


def split(by_version: Mapping[str, int], candidate: str, weight: int) -> dict[str, float]:
    """Return how far a share is from its weight, in percentage points, beside what chance alone does.

    ``chance`` is the standard deviation of so many independent draws: two runs of three are nearer than that.

    >>> split({"1.0.0": 9_480, "1.1.0": 520}, "1.1.0", 5)
    {'weight': 5, 'requests': 10000, 'share': 5.2, 'error': 0.2, 'chance': 0.22}
    """
    total = sum(by_version.values())
    share = 100 * by_version.get(candidate, 0) / total if total else 0.0
    chance = 100 * (weight / 100 * (1 - weight / 100) / total) ** 0.5 if total else 0.0
    return {
        "weight": weight,
        "requests": total,
        "share": round(share, 2),
        "error": round(share - weight, 2),
        "chance": round(chance, 2),
    }


def share_of_hashes(sessions: Sequence[str], weight: int) -> float:
    """Return how many percent of the sessions have a hash that is the candidate's: what a perfect split would give.

    >>> share_of_hashes(["ab0c", "ab0d", "ab00", "abff"], 5)
    50.0
    """
    values = round(weight * _STICKY_VALUES / 100)
    return round(100 * sum(int(session[-2:], 16) < values for session in sessions) / len(sessions), 2)


def moved(before: Mapping[str, str], after: Mapping[str, str], to: str) -> list[str]:
    """Return the sessions whose version has changed to another one than ``to``.

    >>> moved({"aa": "1.1.0", "bb": "1.0.0", "cc": "1.0.0"}, {"aa": "1.0.0", "bb": "1.1.0", "cc": "1.0.0"}, to="1.1.0")
    ['aa']
    """
    return [session for session, version in after.items() if before.get(session, version) != version and version != to]


def steps_took(entered: Sequence[float], begun: Sequence[float], promoted: float, minimum: float) -> dict[str, object]:
    """Return what the steps of a canary took beyond their minimum durations, in seconds.

    The whole is counted from when the first step was entered: its share is on its way to the Gateway then.

    Args:
        entered, begun: when each step was entered, and when it began to count.
        promoted: when the candidate was the stable version.
        minimum: ``minDuration`` of each step.

    >>> steps_took([0, 7, 14], [1, 8, 15], 22, 5)["over_per_step"]
    2.33
    """
    total = promoted - entered[0]
    ends = [*entered[1:], promoted]
    over = total - minimum * len(begun)
    return {
        "total": round(total, 2),
        "minimum": minimum * len(begun),
        "over_per_step": round(over / len(begun), 2),
        "until_it_counts": [round(there - came, 2) for came, there in zip(entered, begun, strict=True)],
        "until_it_passed": [round(end - there - minimum, 2) for there, end in zip(begun, ends, strict=True)],
    }


def in_turns(names: Sequence[str], rounds: int) -> Iterator[str]:
    """Yield each name as often, with the order turned round each time, so that a drift of the machine hits all alike.

    >>> list(in_turns(["plain", "mirrored"], 2))
    ['plain', 'mirrored', 'mirrored', 'plain']
    """
    return itertools.chain.from_iterable(names[:: -1 if turn % 2 else 1] for turn in range(rounds))
