"""Check that every relative link of the documentation leads to a file, and every anchor to a heading."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def main() -> int:
    pages = listed("*.md")
    wrong = [problem for page in pages for problem in problems(page)]
    print("\n".join(wrong) if wrong else f"{len(pages)} pages, every link leads somewhere")
    return 1 if wrong else 0


def listed(pattern: str) -> list[Path]:
    """Return the files that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True)
    return [path for path in (ROOT / line for line in sorted(set(done.stdout.splitlines()))) if path.is_file()]


def problems(page: Path) -> list[str]:
    text = CODE.sub("", FENCE.sub("", page.read_text()))
    found = []
    for target in LINK.findall(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        other = (page.parent / path).resolve() if path else page
        where = f"{page.relative_to(ROOT)}: {target}"
        if not other.exists():
            found.append(f"{where}: there is no such file")
        elif anchor and other.suffix == ".md" and anchor not in anchors(other):
            found.append(f"{where}: no heading makes this anchor")
    return found


def anchors(page: Path) -> set[str]:
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


if __name__ == "__main__":
    sys.exit(main())
