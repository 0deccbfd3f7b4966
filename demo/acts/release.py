"""Act 2: a good version goes through shadow and canary to all requests."""

from demo.acts.releasing import follow, tell_changes, tell_traffic
from demo.manifests import FIRST, NEXT, SLO, STEPWISE, make_next
from demo.say import say
from demo.stage import Stage, wait_until_alone
from demo.traffic import RATE
from demo.version import let_first_serve

_WITHIN_S = 240.0


def play(stage: Stage) -> None:
    let_first_serve(stage)
    manifest = make_next(stage.image, STEPWISE)
    stage.write(manifest)
    tell_changes(stage, FIRST, NEXT)
    say(f"slo is p95 {SLO['p95']}, p99 {SLO['p99']} here: a whole cluster shares this machine with the service")
    say(f"{RATE:.0f} headlines a second go through the Gateway from now on")
    with stage.traffic() as traffic:
        wait_until_alone(traffic, FIRST)
        follow(stage, manifest, "Promoted", _WITHIN_S)
        wait_until_alone(traffic, NEXT)
    tell_traffic(traffic.records)
