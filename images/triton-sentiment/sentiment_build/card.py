"""The numbers in MODEL_CARD.md, rendered from head.json so that they cannot drift."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

BEGIN = "<!-- numbers: written by train_head.py -->"
END = "<!-- end of numbers -->"
_SPLITS = ("train", "calibrate", "test")


def render_numbers(head: Mapping[str, Any]) -> str:
    """Return the table of held-out numbers as Markdown, without the markers."""
    held, training = head["held_out"], head["training"]
    recall = ", ".join(f"{label} {share:.3f}" for label, share in zip(head["labels"], held["recall"], strict=True))
    sentences, articles = training["sentences"], training["articles"]
    split = "; ".join(f"{n}: {sentences[n]} sentences of {articles[n]} articles" for n in _SPLITS)
    rows = {
        "held-out accuracy": f"{held['accuracy']:.3f}",
        "always the most frequent class": f"{held['majority']:.3f}",
        "held-out macro-F1": f"{held['macro_f1']:.3f}",
        "recall": recall,
        "cross-entropy before / after calibration": (
            f"{held['cross_entropy_raw']:.4f} / {held['cross_entropy_calibrated']:.4f}"
        ),
        "temperature": f"{head['calibrator']['temperature']:.2f}",
        "L2 penalty (chosen on the calibration articles)": f"{training['l2']:g}",
        "split, by article": split,
    }
    lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]
    return "\n".join(lines)


def rewrite_card(path: Path, head: Mapping[str, Any]) -> None:
    """Put the rendered numbers between the two markers of the card.

    Raises:
        ValueError: the markers are not there.
    """
    before, _, rest = path.read_text("utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{path.name} has no markers for its numbers")
    text = f"{before}{BEGIN}\n{render_numbers(head)}\n{END}{after}"
    path.write_text(text, "utf-8")
