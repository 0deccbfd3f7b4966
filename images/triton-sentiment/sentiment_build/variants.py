"""The builds there are: the product, and four that release tests need.

Each is a real artifact with hashes of its own; none of the faults is in the product's code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Variant:
    """What differs from the product.

    Attributes:
        meaning: one line for the people who choose it.
        preprocessor: fields of preprocessor/config.json to override.
        entry: folder below ``variants/`` with another model.py, or None.
        fault: what goes into fault.json for that model.py; a version's ``triton.parameters`` may say otherwise.
    """

    meaning: str
    preprocessor: Mapping[str, object] = field(default_factory=dict)
    entry: str | None = None
    fault: Mapping[str, int] = field(default_factory=dict)


VARIANTS: Mapping[str, Variant] = {
    "good": Variant("the product"),
    "tokenizer": Variant(
        "same weights, tokenizer config changed alone: case is kept, 16 tokens at most",
        preprocessor={"lowercase": False, "max_length": 16, "version": "v3.3.0"},
    ),
    "slow": Variant("150 ms later on each batch", entry="slow", fault={"delay_ms": 150}),
    "flaky": Variant(
        "each fifth request of an instance fails, after its first 40",
        entry="flaky",
        fault={"fail_every": 5, "spare_first": 40},
    ),
    "mixed": Variant(
        "right alone; requests that Triton puts into one batch get each other's answers",
        entry="mixed",
        fault={"mixed_from": 2},
    ),
}
