"""runc for machines whose root lacks CAP_SYS_RESOURCE.

kind starts its nodes with `docker run --privileged`, i.e. with every capability there is, and runc then fails with
"unable to apply caps: operation not permitted". This removes that one capability, and negative OOM scores (which need
it too), from what runc is asked to start, and then becomes runc.
"""

import itertools
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

MISSING = "CAP_SYS_RESOURCE"


def soften(process: "dict[str, Any]") -> None:
    capabilities = process.get("capabilities") or {}
    for name, values in capabilities.items():
        capabilities[name] = [value for value in values if value != MISSING]
    if (process.get("oomScoreAdj") or 0) < 0:
        process["oomScoreAdj"] = 0


def rewrite(file: Path, *, whole: bool) -> None:
    document = json.loads(file.read_text())
    soften(document if whole else document["process"])
    file.write_text(json.dumps(document))


def value_of(arguments: "list[str]", *flags: str) -> "str | None":
    for flag, value in itertools.pairwise(arguments):
        if flag in flags:
            return value
    return None


def main(arguments: "list[str]") -> None:
    bundle = value_of(arguments, "--bundle", "-b")
    process = value_of(arguments, "--process", "-p")
    if bundle and ("create" in arguments or "run" in arguments):
        rewrite(Path(bundle) / "config.json", whole=False)
    if process and "exec" in arguments:
        rewrite(Path(process), whole=True)
    runc = shutil.which("runc") or "/usr/sbin/runc"
    os.execv(runc, ["runc", *arguments])


main(sys.argv[1:])
