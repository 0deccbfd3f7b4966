"""Act 4: back by the version's name, and how long the old version went on answering."""

import time

from demo.acts.releasing import tell_traffic
from demo.endpoint import NAMESPACE
from demo.manifests import ENDPOINT, FIRST, NEXT
from demo.say import say
from demo.stage import Stage, wait_until_alone
from demo.tally import last_answer
from demo.version import let_next_serve


def play(stage: Stage) -> None:
    let_next_serve(stage)
    with stage.traffic() as traffic:
        wait_until_alone(traffic, NEXT)
        say(f"$ kubectl iv rollback {ENDPOINT} {FIRST}")
        began = time.monotonic()
        said = stage.iv("rollback", ENDPOINT, FIRST, f"--namespace={NAMESPACE}")
        ended = time.monotonic()
        say("\n".join(f"  {line}" for line in said.splitlines()))
        wait_until_alone(traffic, FIRST)
    records = traffic.records
    say(f"the command took {ended - began:.2f} s; {last_answer(records, NEXT, ended)}")
    tell_traffic(records)
    say(f"the way forward: kubectl iv unpin {ENDPOINT} ({NEXT} is wanted again, and takes over at once)")
