"""Prometheus, or whatever speaks its HTTP API: instant queries, asked side by side and without waiting for ever."""

from inferenceversion_operator.adapters.prometheus.answers import Answer, NoAnswer, Reason, Sample
from inferenceversion_operator.adapters.prometheus.client import Prometheus
from inferenceversion_operator.adapters.prometheus.settings import PrometheusConfig

__all__ = ["Answer", "NoAnswer", "Prometheus", "PrometheusConfig", "Reason", "Sample"]
