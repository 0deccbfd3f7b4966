"""The reference pages say what the CRDs say."""

import runpy
from pathlib import Path

REFERENCE = Path(__file__).parents[3] / "docs/reference"


def test_pages_are_fresh():
    pages = runpy.run_path(str(REFERENCE / "generate.py"))["pages"]()
    stale = [path.name for path, text in pages.items() if not path.is_file() or path.read_text("utf-8") != text]
    assert stale == [], "write them anew: python docs/reference/generate.py"
