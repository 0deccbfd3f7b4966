"""``python -m inferenceversion_operator.differ``: arguments and log; the rest is in ``run``."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from inferenceversion_operator.differ.plan import Plan, PlanInvalidError, load_plan
from inferenceversion_operator.differ.run import Ports, run


def parse(arguments: Sequence[str] | None = None) -> tuple[Path, Ports]:
    default = Ports()
    parser = argparse.ArgumentParser(
        prog="differ",
        description="Ask a stable and a candidate version what live clients asked, and compare the answers.",
    )
    parser.add_argument("--plan", type=Path, required=True, help="differ.json")
    parser.add_argument("--host", default=default.host, help="address to listen on")
    parser.add_argument("--http-port", type=int, default=default.http, help="copies over HTTP")
    parser.add_argument("--grpc-port", type=int, default=default.grpc, help="copies over gRPC")
    parser.add_argument("--probe-port", type=int, default=default.probes, help="/healthz, /metrics, /differences")
    found = parser.parse_args(arguments)
    return found.plan, Ports(found.host, found.http_port, found.grpc_port, found.probe_port)


def main(arguments: Sequence[str] | None = None) -> int:
    path, ports = parse(arguments)
    level = os.environ.get("IVO_LOG_LEVEL", "info").upper()
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    plan = _plan(path)
    if plan is None:
        return 1
    asyncio.run(run(plan, ports))
    return 0


def _plan(path: Path) -> Plan | None:
    try:
        return load_plan(path)
    except PlanInvalidError as error:
        logging.getLogger(__name__).error("%s", error)  # noqa: TRY400 - the message is all there is to say
        return None


if __name__ == "__main__":
    sys.exit(main())
