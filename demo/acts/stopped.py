"""Act 3: a version whose tokenizer config was changed is stopped in the shadow, before it answers anybody."""

from demo.acts.releasing import follow, tell_changes, tell_traffic
from demo.endpoint import StoryError
from demo.manifests import BAD, make_bad
from demo.say import say
from demo.stage import Stage, wait_until_alone
from demo.tally import answered_by
from demo.version import let_any_serve

_WITHIN_S = 180.0


def play(stage: Stage) -> None:
    let_any_serve(stage)
    seen = stage.endpoint.look()
    stable = (seen and seen.view.stable) or ""
    manifest = make_bad(stage.image)
    stage.write(manifest)
    tell_changes(stage, stable, BAD)
    with stage.traffic() as traffic:
        wait_until_alone(traffic, stable)
        follow(stage, manifest, "Failed", _WITHIN_S)
        wait_until_alone(traffic, stable)
    records = traffic.records
    tell_traffic(records)
    answers = len(answered_by(records, BAD))
    say(f"answers of {BAD} that a client got: {answers}")
    if answers:
        raise StoryError(f"{answers} clients got an answer of {BAD}, which was in the shadow")
