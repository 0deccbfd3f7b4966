"""The acts of the story, in their order; each brings the state that it needs, so each can be played alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from demo.acts import release, report, rollback, serve, stopped
from demo.stage import Stage


@dataclass(frozen=True, slots=True)
class Act:
    """One act; ``gated`` ones ask Prometheus."""

    title: str
    play: Callable[[Stage], None]
    gated: bool = False


ACTS: Mapping[str, Act] = {
    "serve": Act("2.4.0 answers headlines through the Gateway", serve.play),
    "release": Act("2.4.1 takes over by shadow and canary, under live traffic", release.play, gated=True),
    "stopped": Act("2.4.2 has another tokenizer config, and never answers anybody", stopped.play, gated=True),
    "rollback": Act("back to 2.4.0 by its name, under live traffic", rollback.play),
    "report": Act("what was seen, as pages to keep", report.play),
}
