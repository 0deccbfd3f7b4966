"""Why a release by steps can't be done here, and what to do: it is held then, and traffic stays where it is."""

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.route import has_gateway
from inferenceversion_operator.core.rollout.attempt import Attempt
from inferenceversion_operator.core.rollout.stages import Stage
from inferenceversion_operator.core.snapshot import Snapshot
from inferenceversion_operator.outcome import Stalled


def held_back(
    seen: Snapshot, stable: InferenceVersion | None, begun: Attempt, stages: tuple[Stage, ...]
) -> Stalled | None:
    """Return why a release by steps can't be done here: to release all at once is what its author wanted to avoid."""
    version = begun.candidate
    if stable is None or begun.skip_steps:
        return None
    if _failed_under_this_pin(seen, version):
        return Stalled(
            "PinnedVersionFailed",
            f"version {version.version} is pinned and its release failed: change spec.version, or release it whatever "
            f"its gates say (kubectl iv promote {seen.name} {version.version} --skip-steps); traffic stays where it is",
        )
    if not stages:
        return None
    wish = f"version {version.version} asks for traffic.strategy {version.traffic.strategy}"
    hint = "or set traffic.strategy to Immediate (it may be changed); traffic stays where it is"
    if not has_gateway(seen):
        return Stalled("GatewayRequired", f"{wish}, which needs a Gateway: set spec.gateway of the endpoint, {hint}")
    if not seen.settings.prometheus:
        need = "whose gates need Prometheus: set prometheus.url of the operator's chart"
        return Stalled("PrometheusNotConfigured", f"{wish}, {need}, {hint}")
    return None


def _failed_under_this_pin(seen: Snapshot, version: InferenceVersion) -> bool:
    """Say whether the version failed since it was pinned: a pin tries once, not for ever."""
    endpoint = seen.endpoint
    if endpoint is None or endpoint.pin != version.version:
        return False
    return endpoint.status.get("failedPin") == version.version
