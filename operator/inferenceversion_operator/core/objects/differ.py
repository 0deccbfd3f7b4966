"""The differ of an endpoint."""

from inferenceversion_operator.api.types import InferenceEndpoint, InferenceVersion
from inferenceversion_operator.core.objects.common import Object
from inferenceversion_operator.core.snapshot import Settings


def make_differ(
    endpoint: InferenceEndpoint, stable: InferenceVersion, candidate: InferenceVersion, settings: Settings
) -> list[Object]:
    raise NotImplementedError
