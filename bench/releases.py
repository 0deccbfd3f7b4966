"""`python -m bench.releases`: releases on the cluster that is up (`make up`): rollback, split, canary, shadow, guard.

It makes and removes the namespace bench-releases. Progress goes to stderr, the numbers as one JSON document to stdout.
"""

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import releases_canary, releases_rollback, releases_shadow, releases_split
from bench.releases_numbers import spread
from bench.releases_stage import Numbers, Stage, load_average, operator_of, set_up
from tests.support.cluster import find_cluster
from tests.support.load import MODEL, infer_body

_GUARD_PY = Path(__file__).with_name("releases_guard.py")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    rollbacks: int = 20
    requests: int = 10_000
    canaries: int = 3
    turns: int = 15
    turn_s: float = 2
    pairs: int = 3_000


_SMALL = Sizes(rollbacks=4, requests=500, canaries=1, turns=2, turn_s=3, pairs=300)


def _rollback(stage: Stage, sizes: Sizes) -> Numbers:
    return releases_rollback.measure(stage, sizes.rollbacks, rate=40)


def _split(stage: Stage, sizes: Sizes) -> Numbers:
    return releases_split.measure(stage, sizes.requests, (1, 5, 10, 50))


def _sticky(stage: Stage, sizes: Sizes) -> Numbers:
    return releases_split.measure(stage, sizes.requests, (5, 50), sticky=True)


def _canary(stage: Stage, sizes: Sizes) -> Numbers:
    return releases_canary.measure(stage, sizes.canaries, rate=50)


def _shadow(stage: Stage, sizes: Sizes) -> Numbers:
    return releases_shadow.measure(stage, sizes.turns, sizes.turn_s, paced=40)


def _guard(stage: Stage, sizes: Sizes) -> Numbers:
    """Ask a version's Triton from inside its pod, around the guard and through it."""
    stage.serve(stage.echo("1.0.0", "guard"))
    (pod,) = stage.ns.pods("guard-1.0.0")
    before = load_average()
    words = [f"/v2/models/{MODEL}/infer", json.dumps(infer_body("Lovely festival")), str(sizes.pairs)]
    name = pod["metadata"]["name"]
    said = stage.ns.kubectl.run(
        *("exec", "-i", name, "-c", "triton", "--", "python3", "-", *words), stdin=_GUARD_PY.read_text(), timeout=300
    )
    took = {way: spread((1000 * one for one in times), 2) for way, times in json.loads(said).items()}
    adds = {share: round(took["guarded"][share] - took["direct"][share], 2) for share in ("p50", "p95")}
    stage.clear()
    return {"load_before": before, "adds_ms": adds, **{f"{way}_ms": times for way, times in took.items()}}


MEASURES: dict[str, Callable[[Stage, Sizes], Numbers]] = {
    "rollback": _rollback,
    "split": _split,
    "sticky": _sticky,
    "canary": _canary,
    "shadow": _shadow,
    "guard": _guard,
}


def main() -> int:
    """Measure what is asked for; one that breaks off does not take the others with it."""
    parser = argparse.ArgumentParser(prog="python -m bench.releases", description=__doc__)
    parser.add_argument("--only", default=",".join(MEASURES), help="of %(default)s")
    parser.add_argument("--small", action="store_true", help="little of each, to see whether it works")
    parser.add_argument("--as-installed", action="store_true", help="measure the operator that runs; install none")
    parser.add_argument("-o", "--output", choices=["json"], default="json")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(MEASURES):
        parser.error(f"--only: no such measurement: {', '.join(sorted(unknown))}")
    cluster = find_cluster()
    found: Numbers = {"cores": os.cpu_count(), "load_before": load_average()}
    with set_up(cluster, _say, install=not options.as_installed) as stage:
        found["operator"] = operator_of(cluster)
        for name in chosen:
            found[name] = _measured(name, stage, _SMALL if options.small else Sizes())
        found["operator_at_the_end"] = operator_of(cluster)
    print(json.dumps(found, indent=1))
    return int(any("broke_off" in found[name] for name in chosen))


def _measured(name: str, stage: Stage, sizes: Sizes) -> Numbers:
    began = time.monotonic()
    try:
        numbers = MEASURES[name](stage, sizes)
    except Exception as error:  # noqa: BLE001 - what was measured so far counts
        traceback.print_exc()
        numbers = {"broke_off": str(error)}
    return {**numbers, "load_after": load_average(), "seconds": round(time.monotonic() - began)}


def _say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
