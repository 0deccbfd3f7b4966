"""How kubectl asks a plugin for completion: it runs ``kubectl_complete-iv`` with the words so far."""

import io
import os
import shlex
import sys
from contextlib import redirect_stdout, suppress

from inferenceversion_operator.cli.app import app

_NO_FILES = ":4"  # cobra's directive: these are all, don't offer files


def main() -> None:
    """Entry of ``kubectl_complete-iv``: kubectl runs it with the words so far, the last one unfinished."""
    words = ["kubectl-iv", *sys.argv[1:]]
    os.environ |= {
        "_KUBECTL_IV_COMPLETE": "complete_bash",
        "COMP_WORDS": shlex.join(words) if words[-1] else f"{shlex.join(words[:-1])} ",
        "COMP_CWORD": str(len(words) - 1),
    }
    found = io.StringIO()
    with redirect_stdout(found), suppress(SystemExit):
        app(prog_name="kubectl-iv")
    for line in filter(None, found.getvalue().splitlines()):
        print(line)
    print(_NO_FILES)
