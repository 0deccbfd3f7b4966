"""How sure a count makes one: exact binomial tails, and what follows from them."""

import math
from dataclasses import dataclass

# A gate fails when what was seen has less than this chance, were the bound held.
ALPHA = 0.01
# Of the variance. Beyond it a sum of terms takes long, and the normal distribution is as good.
_LARGE = 1e6
_NEGLIGIBLE = 1e-17
_BISECTIONS = 50
_FEWEST_ENOUGH = 20


def at_least(part: int, whole: int, share: float) -> float:
    """Return the chance of ``part`` or more of ``whole``, each with the chance ``share``."""
    if part <= 0:
        return 1.0
    if part > whole or share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    if part > whole * share:
        return _upper_tail(part, whole, share)
    return 1 - _upper_tail(whole - part + 1, whole, 1 - share)


def at_most(part: int, whole: int, share: float) -> float:
    """Return the chance of ``part`` or fewer of ``whole``, each with the chance ``share``."""
    return at_least(whole - part, whole, 1 - share)


def _upper_tail(part: int, whole: int, share: float) -> float:
    """Return ``at_least`` above the mean: terms fall from the first on, so that nothing cancels out."""
    variance = whole * share * (1 - share)
    if variance > _LARGE:
        return 0.5 * math.erfc((part - 0.5 - whole * share) / math.sqrt(2 * variance))
    ways = math.lgamma(whole + 1) - math.lgamma(part + 1) - math.lgamma(whole - part + 1)
    term = total = 1.0
    odds = share / (1 - share)
    for k in range(part, whole):
        term *= (whole - k) / (k + 1) * odds
        total += term
        if term < total * _NEGLIGIBLE:
            break
    first = ways + part * math.log(share) + (whole - part) * math.log1p(-share)
    return min(math.exp(first + math.log(total)), 1.0)


def upper_limit(part: int, whole: int) -> float:
    """Return the share that is not exceeded, as sure as one minus ``ALPHA`` (Clopper-Pearson); 1 of nothing."""
    if part >= whole:
        return 1.0
    low, high = part / whole, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if at_most(part, whole, middle) < ALPHA:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class Claim:
    """That at most the share ``allowed`` is bad, where ``part`` of ``whole`` were."""

    part: int
    whole: int
    allowed: float

    @property
    def share(self) -> float:
        return self.part / self.whole if self.whole else 0.0

    @property
    def holds(self) -> bool:
        return self.part <= self.allowed * self.whole

    @property
    def refuted(self) -> bool:
        return at_least(self.part, self.whole, self.allowed) < ALPHA


def allowed_beside(part: int, whole: int, margin: float) -> tuple[float, float]:
    """Return which share is allowed beside a baseline of ``part`` of ``whole``: as it was counted, and as it may be.

    Beyond the second it is sure to be more than ``margin`` above the baseline; of an unknown one nothing is.
    """
    share = part / whole if whole else 0.0
    return min(share + margin, 1.0), min(upper_limit(part, whole) + margin, 1.0)


def enough_for(allowed: float, min_requests: int) -> int:
    """Return of how many requests a share is taken to be within ``allowed``.

    Of so many a single bad one does not break the bound; the user's own minimum will do where that is less.
    """
    wanted = max(min_requests, _FEWEST_ENOUGH)
    return max(_FEWEST_ENOUGH, min(round(1 / allowed), wanted)) if allowed > 0 else wanted
