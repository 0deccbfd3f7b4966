"""Act 1: a version is applied, verified and loaded, and answers."""

from demo.ask import ask_all, table
from demo.endpoint import NAMESPACE
from demo.headlines import HEADLINES
from demo.say import say
from demo.stage import Stage
from demo.version import begin


def play(stage: Stage) -> None:
    begin(stage)
    traffic = stage.traffic()
    say("")
    say("\n".join(table(ask_all(traffic.gateway, traffic.host, HEADLINES))))
    say("\nversion and digest are headers of each answer: x-inference-version, x-inference-digest\n")
    say(stage.cluster.kubectl("get", f"--namespace={NAMESPACE}", "iv,iep").rstrip())
