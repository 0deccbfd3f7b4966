"""Run every check of `make lint`, all of them even when one fails, and say which ones did."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

CHECKS: tuple[tuple[str, list[str]], ...] = (
    ("format", [str(BIN / "ruff"), "format", "--check", "--quiet", "."]),
    ("ruff", [str(BIN / "ruff"), "check", "--quiet", "."]),
    ("mypy", [str(BIN / "mypy"), "--no-error-summary"]),
    ("imports", [str(BIN / "lint-imports"), "--cache-dir", ".import_linter_cache"]),
    ("fragments", [sys.executable, ".ci/fragments.py"]),
    ("links", [sys.executable, ".ci/links.py"]),
)


def main() -> int:
    env = os.environ | {"PYTHONPATH": "operator"}
    failed = []
    for name, command in CHECKS:
        began = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=env, text=True, capture_output=True, check=False)
        ok = done.returncode == 0
        print(f"{name:<10} {'ok' if ok else 'FAILED':<7} {time.monotonic() - began:5.1f} s", flush=True)
        if not ok:
            print(done.stdout + done.stderr, flush=True)
            failed.append(name)
    if failed:
        print(f"lint: {', '.join(failed)} failed (make fmt mends format and part of ruff)", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
