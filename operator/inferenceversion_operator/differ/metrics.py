"""What Prometheus gets to see of the counts. The names are a contract with the gates of a release."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from inferenceversion_operator.differ.histogram import Histogram
from inferenceversion_operator.differ.plan import Plan
from inferenceversion_operator.differ.tally import Tally

_Labels = tuple[str, ...]
_OWN = ("inference_namespace", "inference_endpoint", "inference_version", "inference_stable")


class TallyCollector(Collector):
    """Turns the counts into metrics each time somebody asks."""

    def __init__(self, plan: Plan, tally: Tally) -> None:
        self._own = (plan.namespace, plan.endpoint, plan.candidate.version, plan.stable.version)
        self._tally = tally

    def describe(self) -> Iterable[Metric]:
        """Return nothing: without it a registry would collect once only to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        tally = self._tally
        yield self._one("received", "Copies of live requests that arrived.", tally.received)
        dropped = (((why.value,), count) for why, count in tally.dropped.items())
        yield self._counter("dropped", "Copies that were not compared, by reason.", ("reason",), dropped)
        yield self._one("compared", "Requests that stable answered, so that they count.", tally.compared)
        yield self._one("mismatched", "Compared requests on which the candidate differs.", tally.mismatched)
        mismatches = (((output, kind.value), count) for (output, kind), count in tally.mismatches.items())
        yield self._counter("mismatches", "Outputs that differ, by kind.", ("output", "kind"), mismatches)
        yield self._one("noise_compared", "Requests on which stable was asked twice.", tally.noise_compared)
        yield self._one("noise_mismatched", "Requests on which stable differs from itself.", tally.noise_mismatched)
        failed = (((side.value,), count) for side, count in tally.failed.items())
        yield self._counter("failed", "Requests that one side or both did not answer.", ("side",), failed)
        labels = ("output", "side", "label")
        yield self._counter("labels", "Values of outputs with text.", labels, tally.labels.items())
        flips = ("output", "stable_label", "candidate_label")
        yield self._counter("label_flips", "Values on which the versions disagree.", flips, tally.flips.items())
        yield self._histogram("scores", "Values of outputs with floats.", ("output", "side"), tally.scores.items())
        length = [((), tally.input_length)]
        yield self._histogram("input_length", "Bytes of the inputs of replayed requests.", (), length)
        seconds = (((side,), histogram) for side, histogram in tally.replay_seconds.items())
        yield self._histogram("replay_seconds", "Time that a version took to answer.", ("side",), seconds)

    def _one(self, name: str, text: str, count: int) -> Metric:
        return self._counter(name, text, (), [((), count)])

    def _counter(self, name: str, text: str, labels: _Labels, counts: Iterable[tuple[_Labels, int]]) -> Metric:
        family = CounterMetricFamily(f"inference_shadow_{name}", text, labels=(*_OWN, *labels))
        for values, count in counts:
            family.add_metric((*self._own, *values), count)
        return family

    def _histogram(
        self, name: str, text: str, labels: _Labels, histograms: Iterable[tuple[_Labels, Histogram]]
    ) -> Metric:
        family = HistogramMetricFamily(f"inference_shadow_{name}", text, labels=(*_OWN, *labels))
        for values, histogram in histograms:
            family.add_metric((*self._own, *values), list(histogram.cumulative()), histogram.total)
        return family


class Exposition:
    """The text that Prometheus reads."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, plan: Plan, tally: Tally) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(TallyCollector(plan, tally))

    def text(self) -> bytes:
        return generate_latest(self._registry)
