"""`python -m bench reconcile`: how fast versions become objects, beside a bare client in the same run."""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from bench import reconcile, report


def main() -> int:
    """Run one benchmark and print its table; -o json prints the numbers alone."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["reconcile"], default="reconcile")
    parser.add_argument("--sizes", default="1,100,1000", help="numbers of versions (default: %(default)s)")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        results = asyncio.run(reconcile.run(Path(folder), sizes, lambda line: print(line, file=sys.stderr, flush=True)))
    print(json.dumps(results, indent=1) if options.output == "json" else report.table(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
