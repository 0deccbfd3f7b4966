"""Whether Prometheus sees what it is asked about: nothing passes on old samples, or on those of half the pods."""

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.gates import asked
from inferenceversion_operator.core.gates.answers import Answers, Unanswered
from inferenceversion_operator.core.gates.reading import samples_of
from inferenceversion_operator.core.gates.scope import Scope

_SCRAPES_NEEDED = 2  # the first one only says where counting began
# Samples may be as old as some intervals between scrapes, and a little where those are short.
_INTERVALS, _FRESH_S = 4.0, 15.0


def scrape_problem(scope: Scope, answers: Answers, source: str) -> Unanswered | None:
    """Return why what is known of ``source`` (the key of a question) can't be trusted; None where it can."""
    samples = samples_of(answers, source)
    if isinstance(samples, Unanswered):
        return samples
    seen = {sample.labels.get(asked.OF): sample.value for sample in samples}
    sources = seen.get(asked.SOURCES, 0.0)
    if not sources >= 1:
        return Unanswered("NotScraped", f"Prometheus does not scrape {_what(scope, source)}: {_hint(source)}")
    pods = _ready_pods(scope.candidate) if source == asked.SCRAPED else 0
    if sources < pods:
        return Unanswered(
            "PodNotScraped",
            f"Prometheus scrapes {sources:.0f} of the {pods} ready pods of version {scope.candidate.version}: "
            f"{_hint(source)}",
        )
    return _too_rarely(scope, source, seen) or _too_old(scope, source, seen)


def _too_rarely(scope: Scope, source: str, seen: dict[str | None, float]) -> Unanswered | None:
    scrapes = seen.get(asked.SCRAPES, 0.0)
    if scrapes >= _SCRAPES_NEEDED:
        return None
    return Unanswered(
        "NotScrapedOftenEnough",
        f"Prometheus scraped {_what(scope, source)} {scrapes:.0f} times since the step began, and it takes "
        f"{_SCRAPES_NEEDED} scrapes to count: wait, or scrape more often",
    )


def _too_old(scope: Scope, source: str, seen: dict[str | None, float]) -> Unanswered | None:
    nothing = float("nan")
    age, seconds, scrapes = (seen.get(name, nothing) for name in (asked.AGE, asked.SECONDS, asked.SCRAPES))
    if age <= max(_INTERVALS * seconds / scrapes, _FRESH_S):
        return None
    return Unanswered(
        "SamplesTooOld",
        f"the newest samples of {_what(scope, source)} are {age:.0f} s old: look at its target in Prometheus",
    )


def _ready_pods(version: InferenceVersion) -> int:
    """Return how many pods were ready when the operator wrote the version's status; 0 where it tells of none."""
    ready = version.status.get("readyReplicas")
    return ready if isinstance(ready, int) else 0


def _what(scope: Scope, source: str) -> str:
    if source == asked.DIFFER_SCRAPED:
        return f"the differ of endpoint {scope.candidate.endpoint}"
    return f"the pods of version {scope.candidate.version}"


def _hint(source: str) -> str:
    if source == asked.DIFFER_SCRAPED:
        return "it needs a target for its port metrics, and appears there with the first request that is compared"
    return "it needs a target for the port guard-metrics (path /stats/prometheus) of each"
