"""How kubectl asks a plugin for completion: it runs ``kubectl_complete-iv`` with the words so far."""

import io
import os
import shlex
import sys
from contextlib import redirect_stdout, suppress

_NO_FILES = ":4"  # cobra's directive: these are all, don't offer files


def main() -> None:
    """Entry of ``kubectl_complete-iv``: kubectl runs it with the words so far, the last one unfinished."""
    try:
        from inferenceversion_operator.cli.app import app  # noqa: PLC0415 - may be missing, as in __main__
    except ModuleNotFoundError:
        print(_NO_FILES)  # a tab is no place for a traceback: `kubectl iv` says what is not installed
        return
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
