"""``python -m inferenceversion_operator.fetch``: the arguments, the environment, the signal; the rest is in ``run``."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from inferenceversion_operator.fetch.limits import Limits
from inferenceversion_operator.fetch.run import Options, run


def parse(arguments: Sequence[str] | None = None) -> Options:
    default = Limits()
    parser = argparse.ArgumentParser(
        prog="fetch",
        description="Get a model, verify every byte of it and lay it out for Triton.",
        epilog="Exit codes: 0 verified and in place, 1 the user has to act, 75 trying again may help.",
    )
    parser.add_argument("--plan", type=Path, required=True, help="fetch.json")
    parser.add_argument("--models", type=Path, default=Path("/models"), help="Triton's model repository")
    parser.add_argument("--work", type=Path, default=Path("/work"), help="scratch space, best on the mount of --models")
    parser.add_argument("--configs", type=Path, default=Path("/etc/inferenceversion"), help="the mounted ConfigMap")
    parser.add_argument("--termination-log", type=Path, default=Path("/dev/termination-log"))
    parser.add_argument("--max-bytes", type=int, default=default.max_bytes, help="of the source, packed or not")
    parser.add_argument("--max-files", type=int, default=default.max_files)
    parser.add_argument("--max-depth", type=int, default=default.max_depth, help="folders within folders")
    parser.add_argument("--max-expansion", type=int, default=default.max_expansion, help="bytes for one of an archive")
    parser.add_argument("--stall-timeout", type=float, default=default.stall_seconds, help="seconds without progress")
    found = parser.parse_args(arguments)
    limits = Limits(found.max_bytes, found.max_files, found.max_depth, found.max_expansion, found.stall_timeout)
    return Options(found.plan, found.models, found.work, found.configs, found.termination_log, limits)


def main(arguments: Sequence[str] | None = None) -> int:
    # As process 1 of a container nothing ends us by default.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = parse(arguments)
    env = dict(os.environ)
    for name in env:
        # obstore reads these by itself, too many of them; what we take is in sources/stores.py.
        if name.upper().startswith(("AWS_", "GOOGLE_", "HTTP_", "HTTPS_", "ALL_PROXY")):
            del os.environ[name]
    return run(options, env)


if __name__ == "__main__":
    sys.exit(main())
