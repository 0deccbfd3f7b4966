"""Check the names and first words of the changelog fragments (changelog.d/README.md)."""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "changelog.d"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.(added|changed|deprecated|removed|fixed|security)\.md")


def main() -> int:
    wrong = []
    for path in sorted(FOLDER.iterdir()):
        if path.name == "README.md":
            continue
        if not NAME.fullmatch(path.name):
            wrong.append(f"changelog.d/{path.name}: the name is <what-it-is-about>.<kind>.md, see README.md there")
        elif not path.read_text().startswith("- "):
            wrong.append(f"changelog.d/{path.name}: begin with '- ': it is pasted into a list")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
