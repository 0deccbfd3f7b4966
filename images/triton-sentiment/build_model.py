#!/usr/bin/env python3
"""Build the news-sentiment artifact: ``build_model.py --out DIR [--variant NAME]``.

Needs the packages of ``build-requirements.txt`` (``prepare.py`` installs them) and nothing
else: no network, no clock, no random numbers. The trained head is read from ``head.json``,
so no floating-point arithmetic of this machine reaches the bytes of the artifact.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.dont_write_bytecode = True

from sentiment_build.artifact import ROOT, Hashes, build, write_json  # noqa: E402
from sentiment_build.sources import SourceChanged  # noqa: E402
from sentiment_build.variants import VARIANTS  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what the arguments ask for; return the exit code: 0, or 1 after a message."""
    options = _parser().parse_args(arguments)
    try:
        if options.write_hashes:
            write_json(ROOT / "HASHES.json", all_hashes())
            return 0
        hashes = build(options.out, options.variant)
    except (FileExistsError, SourceChanged) as error:
        print(f"build_model.py: {error}", file=sys.stderr)
        return 1
    print(render(hashes, options.output))
    return 0


def render(hashes: Hashes, output: str) -> str:
    """Return the hashes as text lines or as JSON."""
    if output == "json":
        return json.dumps(hashes.as_dict(), indent=2)
    return "\n".join(f"{name:14} {value}" for name, value in hashes.as_dict().items())


def all_hashes() -> dict[str, dict[str, str | int]]:
    """Build every variant in a temporary folder and return its hashes by name."""
    with tempfile.TemporaryDirectory() as folder:
        return {name: build(Path(folder) / name, name).as_dict() for name in VARIANTS}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Build the news-sentiment artifact.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="folder to write; must be absent or empty")
    what.add_argument("--write-hashes", action="store_true", help="build all variants and rewrite HASHES.json")
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="good")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return parser


if __name__ == "__main__":
    sys.exit(main())
