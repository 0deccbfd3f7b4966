"""status --watch on a real terminal: one picture that moves, and a terminal that is left as it was."""

import os
import pty
import signal
import subprocess
import sys

from tests.support.wait import NotYet, wait_until
from tests.unit.cli.conftest import ROOT

# Who is started in the background inherits that SIGINT is ignored; a person at a terminal does not.
PROGRAM = f"""\
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys
sys.path.insert(0, {str(ROOT / "operator")!r})
from inferenceversion_operator.cli import status
status._INTERVAL_S = 0.1
from inferenceversion_operator.cli.__main__ import main
main()
"""


def test_the_picture_moves_in_place(cluster):
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    command = [sys.executable, "-c", PROGRAM, "status", "--watch"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = bytearray()

    def shows(text):
        try:
            while part := os.read(ours, 65536):
                seen.extend(part)
        except OSError:  # nothing more now
            pass
        if text not in seen:
            raise NotYet(seen[-500:])
        return True

    try:
        wait_until("the tree is there", lambda: shows(b"canary step 2 of 3, 25 %"), within=30)
        cluster.endpoint()["status"]["candidate"] |= {"step": 2, "weight": 50}
        wait_until("it moves", lambda: shows(b"canary step 3 of 3, 50 %"), within=30)
        assert b"\x1b[1A" in seen  # the cursor went up: the same lines are written anew
        process.send_signal(signal.SIGINT)
        # A terminal that nobody reads is full soon, and whoever writes to it waits.
        wait_until("it ended", lambda: shows(b"") and process.poll() is not None, within=30)
        assert process.returncode == 130
        assert shows(b"\x1b[?25h")  # the cursor is back
    finally:
        process.kill()
        process.wait()
        os.close(ours)
