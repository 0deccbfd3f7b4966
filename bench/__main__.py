"""`python -m bench reconcile`: how fast versions become objects, beside a bare client in the same run.

`python -m bench memory`: what a thousand versions take; `python -m bench record`: what an API server returns of one.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from bench import memory, reconcile, report


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Run one benchmark and print its table; -o json prints the numbers alone."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["reconcile", "memory", "record"], default="reconcile")
    parser.add_argument("--sizes", default="1,100,1000", help="numbers of versions (default: %(default)s)")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    as_json = options.output == "json"
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if options.what == "record":
            asyncio.run(memory.record(Path(folder), _say))
        elif options.what == "memory":
            found = memory.run()
            print(json.dumps(found, indent=1) if as_json else memory.table(found))
        else:
            sizes = [int(size) for size in options.sizes.split(",")]
            results = asyncio.run(reconcile.run(Path(folder), sizes, _say))
            print(json.dumps(results, indent=1) if as_json else report.table(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
