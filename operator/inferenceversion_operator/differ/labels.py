"""Texts of outputs as label values of metrics: few, short, printable."""

OTHER = "other"
_DISTINCT = 50  # of one output
_CHARACTERS = 64
_BYTES = 4  # of a character at most


class LabelTable:
    """The labels of one output; what comes after the first fifty is called ``other``."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def label(self, raw: bytes) -> str:
        """Return how ``raw`` is called in metrics."""
        start = raw[: _CHARACTERS * _BYTES]  # of a long text no more is kept
        known = self._known.get(start)
        if known is not None:
            return known
        if len(self._known) >= _DISTINCT:
            return OTHER
        self._known[start] = cleaned = clean(start)
        return cleaned


def clean(raw: bytes, limit: int = _CHARACTERS) -> str:
    """Return text for people: cut, and without what moves cursors; never empty."""
    text = raw[: limit * _BYTES].decode("utf-8", "replace")[:limit]
    return "".join(char if char.isprintable() else "?" for char in text) or "(empty)"
