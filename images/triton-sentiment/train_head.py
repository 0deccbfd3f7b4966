#!/usr/bin/env python3
"""Train the sentiment head: ``train_head.py --sdist vaderSentiment-0.5.zip``.

Reads the graded sentences from the source package, writes ``head.json`` (weights, bias,
calibration, held-out numbers) and the numbers in ``MODEL_CARD.md``. Takes about two minutes
on two cores. ``build_model.py`` starts from ``head.json`` and never trains.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.dont_write_bytecode = True

from sentiment_build.artifact import HEAD_FILE, ROOT, write_json  # noqa: E402
from sentiment_build.card import rewrite_card  # noqa: E402
from sentiment_build.training import train  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write; return the exit code."""
    parser = argparse.ArgumentParser(description="Train the sentiment head.")
    parser.add_argument("--sdist", type=Path, required=True, help="vaderSentiment-0.5.zip")
    parser.add_argument("--head", type=Path, default=HEAD_FILE, help="where to write head.json")
    options = parser.parse_args(arguments)
    head = train(options.sdist)
    write_json(options.head, head)
    if options.head == HEAD_FILE:
        rewrite_card(ROOT / "MODEL_CARD.md", head)
    return 0


if __name__ == "__main__":
    sys.exit(main())
